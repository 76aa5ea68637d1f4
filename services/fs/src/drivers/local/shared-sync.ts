/** Where so many bytes wait to be made durable, that begins while more of them come: whoever syncs at the end waits for the rest alone. */
const AHEAD_BYTES = 1024 * 1024;

/** Makes a file durable that several write to: one sync at a time, and those who ask while one runs share the next. */
export interface SharedSync {
  /** Notes that bytes were written; a sync may begin, for which nobody waits. */
  wrote(bytes: number): void;
  /** All that was noted is durable then. @throws what a sync before has thrown: the system tells of lost bytes once, and not whose they were */
  now(): Promise<void>;
}

export function createSharedSync(sync: () => Promise<void>): SharedSync {
  let waitingBytes = 0;
  let running: Promise<void> | undefined;
  let next: Promise<void> | undefined;
  let failure: { readonly error: unknown } | undefined;
  const run = async () => {
    if (failure) throw failure.error;
    waitingBytes = 0;
    try {
      await sync();
    } catch (error) {
      failure = { error };
      throw error;
    }
  };
  const begin = (): Promise<void> => {
    next = undefined;
    const begun = run().finally(() => {
      if (running === begun) running = undefined;
    });
    running = begun;
    return begun;
  };
  const now = (): Promise<void> => {
    if (next) return next;
    if (!running) return begin();
    next = running.then(begin, begin);
    return next;
  };
  return {
    now,
    wrote(bytes) {
      waitingBytes += bytes;
      // Whoever asks meets its failure.
      if (waitingBytes >= AHEAD_BYTES && !running) now().catch(() => undefined);
    },
  };
}
