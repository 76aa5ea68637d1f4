import type { Connection } from 'mongoose';

const SAMPLES = 3;
const RESYNC_MS = 30_000;

/**
 * The store's clock as this process knows it: read from the store's `hello` and carried on by the process's monotonic clock, so that a
 * wrong or changing system time here moves no lease. It is off by half a round trip at most, and by what the two clocks drift in
 * RESYNC_MS.
 */
export interface StoreClock {
  now(): Date;
  /** Asks the store when the last answer is older than RESYNC_MS. @throws what the store throws */
  sync(): Promise<void>;
}

export function createStoreClock(connection: Connection): StoreClock {
  let base: { storeMs: number; atMs: number } | undefined;
  return {
    now() {
      if (!base) throw new Error('the task engine has not been started');
      return new Date(Math.floor(base.storeMs + performance.now() - base.atMs));
    },
    async sync() {
      if (base && performance.now() - base.atMs < RESYNC_MS) return;
      let best: { storeMs: number; atMs: number; roundTripMs: number } | undefined;
      for (let sample = 0; sample < SAMPLES; sample += 1) {
        const sentMs = performance.now();
        const answer = await connection.getClient().db('admin').command({ hello: 1 });
        const roundTripMs = performance.now() - sentMs;
        const { localTime } = answer;
        if (!(localTime instanceof Date)) throw new Error('the store does not tell its time');
        if (!best || roundTripMs < best.roundTripMs) best = { storeMs: localTime.getTime(), atMs: sentMs + roundTripMs / 2, roundTripMs };
      }
      base = best;
    },
  };
}
