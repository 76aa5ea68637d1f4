/** Whether something of this time is younger than that. What is of the future is not: the clock was set back since, by nobody knows how much. */
export function isYounger(sinceMs: number, nowMs: number, maxAgeMs: number): boolean {
  return sinceMs <= nowMs && nowMs - sinceMs < maxAgeMs;
}

/**
 * Whether a lease or a lock until then still holds. One that has more left than it can have was given before the clock was set back, nobody knows when.
 *
 * @param longestMs what the longest is given for, and what the clocks of replicas may differ by
 */
export function lasts(untilMs: number, nowMs: number, longestMs: number): boolean {
  return untilMs > nowMs && untilMs - nowMs <= longestMs;
}
