import { setTimeout as delay } from 'node:timers/promises';

/** Slows its callers down to one rate, which they share. */
export interface RateLimit {
  /** Resolves when `bytes` more may pass. @throws the signal's reason */
  take(bytes: number, signal: AbortSignal): Promise<void>;
}

/** What may pass at once after a pause, in milliseconds of the rate. */
const BURST_MS = 250;

/** @param bytesPerSecond 0: no limit */
export function createRateLimit(bytesPerSecond: number): RateLimit {
  let freeAt = 0;
  return {
    async take(bytes, signal) {
      if (bytesPerSecond <= 0) return;
      const now = performance.now();
      const ms = (bytes / bytesPerSecond) * 1000;
      freeAt = Math.max(freeAt, now - BURST_MS) + ms;
      if (freeAt <= now) return;
      try {
        await delay(freeAt - now, undefined, { signal });
      } catch (error) {
        // What does not pass takes nothing of the rate: others would wait for it.
        freeAt -= ms;
        throw error;
      }
    },
  };
}
