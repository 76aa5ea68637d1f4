/** Waits for work, which goes on where it is not waited for any more. @throws the reason of the signal as soon as it is aborted; what the work throws */
export async function unlessAborted<Result>(signal: AbortSignal, work: Promise<Result>): Promise<Result> {
  // Where it is not waited for, nobody else may be there to meet its failure.
  work.catch(() => undefined);
  const aborted = Promise.withResolvers<never>();
  const onAbort = () => aborted.reject(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    signal.throwIfAborted();
    return await Promise.race([work, aborted.promise]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}
