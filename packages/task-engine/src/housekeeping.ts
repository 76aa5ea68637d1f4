import type { TaskModels } from '@wharf/models';
import type { StoreClock } from './store-clock.ts';
import { stamp } from './task-lease.ts';
import { QUEUED_STATES, TASK_STATE } from './task-state.ts';
import { updateInSteps } from './update-in-steps.ts';

/** What is kept of an owner's tasks that have ended: the newest of them, and none longer than this. */
const MAX_DONE_TASKS = 10_000;
const MAX_DONE_AGE_MS = 30 * 86_400_000;
/** A deleted task stays for so long, unseen, so that every watcher learns of it; in milliseconds. */
const TOMBSTONE_MS = 60_000;
const BATCH = 500;
/** Tasks of a kind that no worker has are given up when nothing has happened to any of the kind for so long, in milliseconds. */
const ABANDONED_MS = 86_400_000;
/**
 * How long this worker must have been watching before it gives tasks up. After an outage of all replicas, the one that has the kind may
 * start last.
 */
const WATCHING_MS = 3_600_000;
const ABANDONED = 'the only worker that could do this has been away for a day';

/** Removes old tasks, and fails tasks of kinds that no worker has any more. Any replica may do it, also several at once. */
export interface Housekeeping {
  run(): Promise<void>;
}

/** @param kinds that this worker has: others may be those of a single replica, which can go away for ever */
export function createHousekeeping(
  { tasks, chunks }: TaskModels,
  clock: StoreClock,
  kinds: readonly string[],
  maxDone = MAX_DONE_TASKS,
): Housekeeping {
  let watchingSince: number | undefined;
  const before = (ms: number) => new Date(clock.now().getTime() - ms);
  const forgetUntil = (end: Date) =>
    updateInSteps({ tasks }, { done: true, forget: false, end_time: { $lte: end } }, { $set: { forget: true }, ...stamp });

  const giveUp = async () => {
    const now = clock.now();
    watchingSince ??= now.getTime();
    if (now.getTime() - watchingSince < WATCHING_MS) return;
    const longAgo = before(ABANDONED_MS);
    const foreign = { kind: { $nin: [...kinds] }, done: false, paused: false, updated_at: { $lte: longAgo } };
    for (const kind of await tasks.distinct('kind', foreign)) {
      // A live worker of the kind touches one of its tasks regularly, also when many wait.
      if (await tasks.exists({ kind, updated_at: { $gt: longAgo } })) continue;
      const ended = { done: true, waiting: false, worker: '', phase: '', speed: 0, eta: null, end_time: now };
      const failed = { ...ended, state: TASK_STATE.failed, error: ABANDONED, error_code: 'UNSUPPORTED_OPERATION' };
      const still = { ...foreign, kind };
      await tasks.updateMany(
        { ...still, state: { $in: [...QUEUED_STATES, TASK_STATE.failing] }, run_at: { $lte: longAgo } },
        { $set: failed, ...stamp },
      );
      await tasks.updateMany({ ...still, state: TASK_STATE.canceling }, { $set: { ...ended, state: TASK_STATE.canceled }, ...stamp });
    }
  };

  return {
    async run() {
      await giveUp();
      await forgetUntil(before(MAX_DONE_AGE_MS));
      const newestTooMany = await tasks.findOne({ done: true, forget: false }, { end_time: 1 }).sort({ end_time: -1 }).skip(maxDone).lean();
      if (newestTooMany?.end_time) await forgetUntil(newestTooMany.end_time);
      for (;;) {
        const dead = await tasks
          .find({ done: true, forget: true, updated_at: { $lte: before(TOMBSTONE_MS) } }, { _id: 1 })
          .sort({ end_time: 1 })
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
