/**
 * Makes a file durable that several write to: one sync at a time, and those who ask while one runs share the next. Once one has failed all fail: the
 * system tells of lost bytes once, and not whose they were.
 */
export function createSharedSync(sync: () => Promise<void>): () => Promise<void> {
  let last = Promise.resolve();
  /** Not begun yet. One that comes behind a failure never begins, and stays. */
  let next: Promise<void> | undefined;
  return () => {
    next ??= last = last.then(() => {
      next = undefined;
      return sync();
    });
    return next;
  };
}
