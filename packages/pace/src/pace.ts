import { AppError } from '@wharf/errors';
import { createTurns } from './turns.ts';

/** Longest stretch on the event loop between two turns of others, in milliseconds. */
const SLICE_MS = 5;
/** Of all long pieces of work on this thread one goes on in each turn of the event loop: ten at once keep nobody waiting for ten slices. */
const takeTurn = createTurns();

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
