/** Rejects where something may not go on. */
export type MayStill = () => Promise<void>;

/** So long an answer is good for, in milliseconds. */
const GOOD_FOR_MS = 2_000;

/** Asks at first, and again by whoever comes later than two seconds after that; others have the answer that there is. */
export function nowAndThen(ask: MayStill = async () => {}): MayStill {
  let last: { readonly answer: Promise<void>; readonly atMs: number } | undefined;
  return () => {
    if (!last || performance.now() - last.atMs >= GOOD_FOR_MS) last = { answer: ask(), atMs: performance.now() };
    return last.answer;
  };
}
