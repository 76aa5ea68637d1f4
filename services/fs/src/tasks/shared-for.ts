/**
 * One answer for all who ask within a time, and while it is waited for; a failure is shared likewise.
 *
 * @param ms from when it was asked for
 */
export function sharedFor<Result>(ms: number, ask: () => Promise<Result>): () => Promise<Result> {
  let last: { readonly answer: Promise<Result>; readonly atMs: number } | undefined;
  return () => {
    const nowMs = performance.now();
    if (!last || nowMs - last.atMs >= ms) {
      const answer = ask();
      // Whoever waits for it meets its failure.
      answer.catch(() => undefined);
      last = { answer, atMs: nowMs };
    }
    return last.answer;
  };
}
