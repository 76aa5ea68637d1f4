import type { CallOptions } from './storage-driver.ts';

/** Who may do what is asked for once more after so long, in milliseconds. */
const LATE_MS = 2_000;

/** A change that comes to its turn late, from now on, is made only if that is still wanted. */
export function inTime<Result>(options: CallOptions | undefined, change: () => Promise<Result>): () => Promise<Result> {
  const cameAtMs = performance.now();
  return async () => {
    if (performance.now() - cameAtMs >= LATE_MS) await options?.afterWaiting?.();
    return change();
  };
}
