import { setImmediate } from 'node:timers/promises';
import { throwIfAborted } from './storage-error.ts';

const SLICE_MS = 5;

/** Makes room for other calls within a long one on the same thread, and ends it when its caller has gone. */
export interface Pace {
  /** Call it between any two steps. */
  step(): Promise<void>;
}

export function createPace(signal: AbortSignal | undefined): Pace {
  let sliceEndsAt = performance.now() + SLICE_MS;
  return {
    async step() {
      if (performance.now() < sliceEndsAt) return;
      await setImmediate();
      throwIfAborted(signal);
      sliceEndsAt = performance.now() + SLICE_MS;
    },
  };
}
