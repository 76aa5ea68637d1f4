import { AppError } from '@wharf/errors';
import type { Queue } from './gate.ts';
import { unlessAborted } from './unless-aborted.ts';

/**
 * Runs work of an owner, at once or when its turn comes.
 *
 * @throws AppError OVERLOADED: too much of this owner waits already | the reason of the signal, which ends the wait alone | what the work throws
 */
type FairPlaces = <Result>(owner: string, work: () => Promise<Result>, signal?: AbortSignal) => Promise<Result>;

interface Lane {
  running: number;
  /** In the order in which they came. */
  readonly waiting: Set<() => void>;
}

/**
 * Shares places between owners, who have them in turns: one has all of them but one, so that whoever comes next need not wait for work that takes long.
 *
 * @param queue how much of one owner may wait, and what is said to the rest; without it any number waits
 */
export function createFairPlaces(places: number, queue?: Queue): FairPlaces {
  /** Whose turn is next comes first. */
  const lanes = new Map<string, Lane>();
  let running = 0;
  const fill = () => {
    for (const [owner, lane] of lanes) {
      if (running === places) return;
      const [begin] = lane.running < Math.max(1, places - 1) ? lane.waiting : [];
      if (!begin) continue;
      lane.waiting.delete(begin);
      lanes.delete(owner);
      lanes.set(owner, lane);
      lane.running += 1;
      running += 1;
      begin();
    }
  };
  return async (owner, work, signal) => {
    const lane = lanes.get(owner) ?? { running: 0, waiting: new Set() };
    if (queue && lane.waiting.size >= queue.max) throw new AppError('OVERLOADED', queue.refusal);
    lanes.set(owner, lane);
    const turn = Promise.withResolvers<void>();
    const begin = () => turn.resolve();
    lane.waiting.add(begin);
    fill();
    try {
      await (signal ? unlessAborted(signal, turn.promise) : turn.promise);
      return await work();
    } finally {
      // Who gave up may have had a turn in the same moment.
      if (!lane.waiting.delete(begin)) {
        lane.running -= 1;
        running -= 1;
      }
      if (lane.running === 0 && lane.waiting.size === 0) lanes.delete(owner);
      fill();
    }
  };
}
