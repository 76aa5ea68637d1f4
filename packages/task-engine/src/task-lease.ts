import type { StoreClock } from './store-clock.ts';

/** How long a worker holds a task without a sign of life, in milliseconds. */
export const LEASE_MS = 6_000;

/** What a task says that nobody holds. */
export const NOBODY = { worker: '', lease_until: new Date(0) } as const;

/** What every write to a task adds. */
export const stamp = { $currentDate: { updated_at: true }, $inc: { revision: 1 } } as const;

/** A time by the store's clock. */
export const inMs = (clock: StoreClock, ms: number): Date => new Date(clock.now().getTime() + ms);
