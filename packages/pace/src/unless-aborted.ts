interface Waiter {
  resolve(result: unknown): void;
  reject(error: unknown): void;
}

/** Who waits for work that has not ended. */
const waitersOf = new WeakMap<Promise<unknown>, Set<Waiter>>();

/**
 * Waits for work, which goes on where it is not waited for any more. Who has gone leaves nothing behind, however long the work takes that others wait
 * for, too. @throws the reason of the signal as soon as it is aborted; what the work throws
 */
export async function unlessAborted<Result>(signal: AbortSignal, work: Promise<Result>): Promise<Result> {
  const waiters = waitersOf.get(work) ?? told(work);
  signal.throwIfAborted();
  const { promise, resolve, reject } = Promise.withResolvers<unknown>();
  const waiter = { resolve, reject };
  const onAbort = () => reject(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  waiters.add(waiter);
  try {
    return (await promise) as Result;
  } finally {
    waiters.delete(waiter);
    signal.removeEventListener('abort', onAbort);
  }
}

/** Tells all who wait when the work has ended. Where there is none, nobody else may be there to meet its failure. */
function told(work: Promise<unknown>): Set<Waiter> {
  const waiters = new Set<Waiter>();
  waitersOf.set(work, waiters);
  work.then(
    (result) => {
      for (const { resolve } of waiters) resolve(result);
      waitersOf.delete(work);
    },
    (error) => {
      for (const { reject } of waiters) reject(error);
      waitersOf.delete(work);
    },
  );
  return waiters;
}
