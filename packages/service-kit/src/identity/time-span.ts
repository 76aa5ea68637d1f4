/** What a clock may go on by itself, in milliseconds. */
const STEADY_MS = 500;
/** How long others may still have the time of before: they ask for it every half minute, and an answer takes its time. In milliseconds. */
const KNOWN_AFTER_MS = 90_000;

/** What processes that have one time take for now, in milliseconds since 1970. */
export interface TimeSpan {
  readonly earliest: number;
  readonly latest: number;
}

/**
 * What others may take for now. A clock that is set, here or where all have their time from, is so for each process at another moment: until all know, the
 * time of before counts as well.
 *
 * @param clock milliseconds since 1970. @param steady milliseconds, by a clock that nobody sets
 */
export function createTimeSpan(clock: () => number, steady: () => number): () => TimeSpan {
  let aheadMs = clock() - steady();
  let before: { readonly aheadMs: number; readonly untilMs: number }[] = [];
  return () => {
    const nowMs = steady();
    const was = aheadMs;
    aheadMs = clock() - nowMs;
    before = before.filter(({ untilMs }) => untilMs > nowMs);
    if (Math.abs(aheadMs - was) > STEADY_MS) before.push({ aheadMs: was, untilMs: nowMs + KNOWN_AFTER_MS });
    const all = [aheadMs, ...before.map((each) => each.aheadMs)];
    return { earliest: nowMs + Math.min(...all), latest: nowMs + Math.max(...all) };
  };
}
