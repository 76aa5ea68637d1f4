/** Milliseconds by a clock that all threads of the process share, and that nobody sets: `performance.now()` begins anew in each. */
export function monotonicMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}
