import { AsyncLocalStorage } from 'node:async_hooks';
import { AppError } from '@wharf/errors';
import { createFairTurns } from './turns.ts';

/** The longest time, in milliseconds, that work stays on the event loop before other work gets its turn. */
export const SLICE_MS = 5;
/** For whom the work is done, carried along with it: nothing between a call and its long pieces of work needs to know. */
const served = new AsyncLocalStorage<string>();
const inTurn = createFairTurns();

/** Has work, and all that comes of it, take its turns as one owner, by turns with the others. Without an owner it is Wharf's own. */
export function forOwner<Result>(owner: string, work: () => Result): Result {
  return served.run(owner, work);
}

/**
 * Runs something as no part of the call that is being served: what is done for all, and whatever outlives a call, takes its turns as nobody's, and goes not by
 * the way that the call came by which happened to begin it. What is carried along with calls (`AsyncLocalStorage`) is not there.
 */
export const outsideCalls: <Result>(work: () => Result) => Result = AsyncLocalStorage.snapshot();

/** For whom work is done here and now; empty: Wharf's own. */
export const ownerNow = (): string => served.getStore() ?? '';

/**
 * In each turn of the event loop only one of the long pieces of work on this thread goes on. So ten of them do not delay a short call by
 * ten slices. Owners have their turns by turns: sixty of one owner do not delay another one by sixty slices each.
 */
export function takeTurn(owner = ownerNow()): Promise<void> {
  return inTurn(owner, 0);
}

/** Makes room for other calls within a long one on the same thread, and ends it when its caller has gone. */
export interface Pace {
  /** Call it between any two steps. @throws AppError CANCELLED, or the AppError that is the reason of the abort */
  step(): Promise<void>;
}

export function createPace(signal?: AbortSignal): Pace {
  const owner = served.getStore();
  let sliceEndsAt = performance.now() + SLICE_MS;
  return {
    async step() {
      if (performance.now() < sliceEndsAt) return;
      await takeTurn(owner);
      if (signal?.aborted)
        throw AppError.is(signal.reason) ? signal.reason : new AppError('CANCELLED', 'cancelled', { cause: signal.reason });
      sliceEndsAt = performance.now() + SLICE_MS;
    },
  };
}
