import { AppError } from '@wharf/errors';
import { createTurns } from './turns.ts';

/** The longest time, in milliseconds, that work stays on the event loop before other work gets its turn. */
export const SLICE_MS = 5;
/**
 * In each turn of the event loop only one of the long pieces of work on this thread goes on. So ten of them do not delay a short call by
 * ten slices.
 */
export const takeTurn = createTurns();

/** Makes room for other calls within a long one on the same thread, and ends it when its caller has gone. */
export interface Pace {
  /** Call it between any two steps. @throws AppError CANCELLED, or the AppError that is the reason of the abort */
  step(): Promise<void>;
}

export function createPace(signal?: AbortSignal): Pace {
  let sliceEndsAt = performance.now() + SLICE_MS;
  return {
    async step() {
      if (performance.now() < sliceEndsAt) return;
      await takeTurn();
      if (signal?.aborted)
        throw AppError.is(signal.reason) ? signal.reason : new AppError('CANCELLED', 'cancelled', { cause: signal.reason });
      sliceEndsAt = performance.now() + SLICE_MS;
    },
  };
}
