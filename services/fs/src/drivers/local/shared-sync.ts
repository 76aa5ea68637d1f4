/**
 * Makes a file durable that several write to: one sync at a time, and those who ask while one runs share the next. Once one has failed all fail: the
 * system tells of lost bytes once, and not whose they were.
 */
export function createSharedSync(sync: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | undefined;
  let next: Promise<void> | undefined;
  let failure: { readonly error: unknown } | undefined;
  const run = async () => {
    if (failure) throw failure.error;
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
  return () => {
    if (next) return next;
    if (!running) return begin();
    next = running.then(begin, begin);
    return next;
  };
}
