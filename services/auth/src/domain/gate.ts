import { AppError } from '@wharf/errors';

/** Runs work when its turn comes. @throws AppError RATE_LIMITED when too much waits already */
type Gate = <Answer>(work: () => Promise<Answer>) => Promise<Answer>;

/** Lets `running` pieces of work run at once and `waiting` more wait, first come, first served. */
export function createGate(limits: { running: number; waiting: number }): Gate {
  const queue: Array<() => void> = [];
  let running = 0;
  return async (work) => {
    if (running < limits.running) running += 1;
    else {
      if (queue.length >= limits.waiting) throw new AppError('RATE_LIMITED', 'Too many logins at the same time, try again later.');
      // Whoever finishes hands the place over, so `running` stays as it is.
      await new Promise<void>((resolve) => queue.push(resolve));
    }
    try {
      return await work();
    } finally {
      const next = queue.shift();
      if (next) next();
      else running -= 1;
    }
  };
}
