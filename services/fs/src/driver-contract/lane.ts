import { AppError } from '@wharf/errors';
import { abortError, throwIfAborted } from './storage-error.ts';

/** Leaves a lane; more than once is as once. */
export type Leave = () => void;

/** So many may be under way in a storage at a time; the others wait in turn. */
export interface Lane {
  /** @throws AppError OVERLOADED: the turn did not come in time | CANCELLED */
  enter(signal: AbortSignal | undefined): Promise<Leave>;
  run<Result>(signal: AbortSignal | undefined, work: () => Promise<Result>): Promise<Result>;
}

/** @param waitMs how long to wait for a turn */
export function createLane(size: number, waitMs: number): Lane {
  const waiting = new Set<() => void>();
  let entered = 0;

  const leaveOnce = (): Leave => {
    let hasLeft = false;
    return () => {
      if (hasLeft) return;
      hasLeft = true;
      const [next] = waiting;
      // Whoever leaves hands the place on.
      if (next) next();
      else entered -= 1;
    };
  };
  const enter = async (signal: AbortSignal | undefined): Promise<Leave> => {
    throwIfAborted(signal);
    if (entered < size) {
      entered += 1;
      return leaveOnce();
    }
    return new Promise<Leave>((resolve, reject) => {
      const end = () => {
        waiting.delete(take);
        clearTimeout(timer);
        signal?.removeEventListener('abort', abort);
      };
      const take = () => {
        end();
        resolve(leaveOnce());
      };
      const abort = () => {
        end();
        reject(signal && abortError(signal));
      };
      const timer = setTimeout(() => {
        end();
        reject(new AppError('OVERLOADED', 'the storage is busy, try again in a moment'));
      }, waitMs);
      waiting.add(take);
      signal?.addEventListener('abort', abort, { once: true });
    });
  };
  return {
    enter,
    async run(signal, work) {
      const leave = await enter(signal);
      try {
        return await work();
      } finally {
        leave();
      }
    },
  };
}
