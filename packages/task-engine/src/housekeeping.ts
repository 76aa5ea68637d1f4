import type { TaskModels } from '@wharf/models';
import type { StoreClock } from './store-clock.ts';
import { DONE_STATES } from './task-state.ts';

/** What is kept of an owner's tasks that have ended: the newest of them, and none longer than this. */
const MAX_DONE_TASKS = 10_000;
const MAX_DONE_AGE_MS = 30 * 86_400_000;
/** A deleted task stays for so long, unseen, so that every watcher learns of it; in milliseconds. */
const TOMBSTONE_MS = 60_000;
const BATCH = 500;

/** Removes what nobody needs any more. Any replica may do it, also several at once. */
export interface Housekeeping {
  run(): Promise<void>;
}

export function createHousekeeping({ tasks, chunks }: TaskModels, clock: StoreClock, maxDone = MAX_DONE_TASKS): Housekeeping {
  const before = (ms: number) => new Date(clock.now().getTime() - ms);
  const forgetUntil = (end: Date) =>
    tasks.updateMany(
      { done: true, forget: false, end_time: { $lte: end } },
      { $set: { forget: true }, $currentDate: { updated_at: true }, $inc: { revision: 1 } },
    );

  return {
    async run() {
      await forgetUntil(before(MAX_DONE_AGE_MS));
      const newestTooMany = await tasks.findOne({ done: true, forget: false }, { end_time: 1 }).sort({ end_time: -1 }).skip(maxDone).lean();
      if (newestTooMany?.end_time) await forgetUntil(newestTooMany.end_time);
      for (;;) {
        const dead = await tasks
          .find({ state: { $in: DONE_STATES }, forget: true, updated_at: { $lte: before(TOMBSTONE_MS) } }, { _id: 1 })
          .limit(BATCH)
          .lean();
        const ids = dead.map(({ _id }) => _id);
        if (ids.length === 0) return;
        // The chunks first: a task without its chunks can be removed later, chunks without their task would stay.
        await chunks.deleteMany({ task: { $in: ids } });
        await tasks.deleteMany({ _id: { $in: ids }, forget: true });
      }
    },
  };
}
