import { AppError } from '@wharf/errors';

/** Lets a bounded number of pieces of work run at once; the others wait, first come, first served. */
export interface Gate {
  /** Runs work at once, or when its turn comes. @throws AppError RATE_LIMITED when too much waits already; what the work throws */
  run<Result>(work: () => Promise<Result>): Promise<Result>;
  /** Nothing runs and nothing waits. */
  isIdle(): boolean;
}

/** How much may wait, and what is said to the rest. */
export interface Queue {
  readonly max: number;
  readonly refusal: string;
  /** When the rest may come again, in milliseconds; absent: that is not said. */
  readonly retryAfterMs?: number;
}

/** @param queue without it any number waits */
export function createGate(running: number, queue?: Queue): Gate {
  const waiting: Array<() => void> = [];
  let held = 0;
  return {
    async run(work) {
      if (held < running) held += 1;
      else {
        if (queue && waiting.length >= queue.max) throw tooMany(queue);
        // Work that ends passes its place on to the next, so `held` does not change.
        await new Promise<void>((resolve) => waiting.push(resolve));
      }
      try {
        return await work();
      } finally {
        const next = waiting.shift();
        if (next) next();
        else held -= 1;
      }
    },
    isIdle: () => held === 0,
  };
}

const tooMany = ({ refusal, retryAfterMs }: Queue) =>
  new AppError('RATE_LIMITED', refusal, retryAfterMs === undefined ? {} : { details: { retryAfterMs } });
