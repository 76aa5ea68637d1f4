import { duplicatesOf, type TaskModels, type TaskRecord } from '@wharf/models';
import type { StoreClock } from './store-clock.ts';
import { inMs, LEASE_MS, NOBODY, stamp } from './task-lease.ts';
import { CLEANUP_STATES, HELD_STATES, TASK_STATE } from './task-state.ts';
import type { UserSpan } from './turns.ts';

/** How many workers in a row may die with a task that makes no progress in between. Then the task is taken for the cause, and fails. */
const MAX_LOSSES = 5;
const LOST_TOO_OFTEN = 'every worker that took this task ended over it';

/** Writes to tasks that the caller does not hold: adding and returning them, and taking those that are to be put away. */
export interface TaskClaims {
  /** @returns those that were not there yet */
  insert(records: readonly TaskRecord[]): Promise<readonly TaskRecord[]>;
  /** True when a task waits that may be taken; `kinds` are those that may. */
  hasWork(kinds: readonly string[]): Promise<boolean>;
  /** The first user in a span who has a task waiting, be it due or not. */
  nextUser(kind: string, span: UserSpan): Promise<number | undefined>;
  /**
   * Takes a task of one of the kinds that was cancelled or failed, is not yet put away and that nobody holds.
   *
   * @param closed users whose tasks are left alone
   */
  claimCleanup(kinds: readonly string[], worker: string, closed: readonly number[]): Promise<TaskRecord | undefined>;
  /**
   * Looks for tasks whose worker gave no sign of life, and returns them to the queue if `mayTakeOver` says so, or leaves them to whoever does
   * their cleanup. True when it returned some.
   */
  reap(mayTakeOver: boolean): Promise<boolean>;
  /** Makes due the first of those that were given back with a delay. */
  hurry(kind: string, count: number): Promise<void>;
}

export function createTaskClaims({ tasks }: Pick<TaskModels, 'tasks'>, clock: StoreClock): TaskClaims {
  return {
    async insert(records) {
      try {
        // As they are: to make documents of a hundred takes 40 ms, ten times as long as to write them.
        await tasks.insertMany(records, { ordered: false, lean: true });
        return records;
      } catch (error) {
        const known = duplicatesOf(error, records.length);
        if (!known) throw error;
        return records.filter((_, index) => !known.has(index));
      }
    },

    async hasWork(kinds) {
      if (kinds.length === 0) return false;
      const filter = { waiting: true, kind: { $in: [...kinds] }, run_at: { $lte: clock.now() } };
      return (await tasks.findOne(filter, { _id: 1 }).lean()) !== null;
    },

    async nextUser(kind, { above, below }) {
      const filter = { waiting: true, kind, creator_id: { $gt: above, $lt: below } };
      return (await tasks.findOne(filter, { creator_id: 1 }).sort({ creator_id: 1 }).lean())?.creator_id;
    },

    async claimCleanup(kinds, worker, closed) {
      const filter = {
        kind: { $in: [...kinds] },
        state: { $in: CLEANUP_STATES },
        lease_until: { $lte: clock.now() },
        worker: '',
        ...(closed.length === 0 ? {} : { creator_id: { $nin: [...closed] } }),
      };
      // There is hardly ever one, and a read costs less than an update that finds nothing.
      const first = await tasks.findOne(filter, { _id: 1 }).lean();
      if (first === null) return undefined;
      // Thousands that are passed over are passed over once.
      const wanted = closed.length === 0 ? filter : { ...filter, _id: first._id };
      const update = {
        $set: { worker, lease_until: inMs(clock, LEASE_MS) },
        $currentDate: stamp.$currentDate,
        $inc: { revision: 1, fence: 1 },
      };
      return (await tasks.findOneAndUpdate(wanted, update, { returnDocument: 'after' }).lean<TaskRecord>()) ?? undefined;
    },

    async reap(mayTakeOver) {
      const expired = { state: { $in: HELD_STATES }, lease_until: { $lte: clock.now() } };
      const found = await tasks.findOne(expired, { _id: 1 }).lean();
      if (found === null || !mayTakeOver) return false;
      const lost = { ...expired, state: TASK_STATE.running };
      await tasks.updateMany(
        { ...lost, losses: { $gte: MAX_LOSSES - 1 } },
        { $set: { state: TASK_STATE.failing, error: LOST_TOO_OFTEN, error_code: 'INTERNAL', losses: 0, worker: '' }, ...stamp },
      );
      const cleanup = { ...expired, state: { $in: CLEANUP_STATES }, worker: { $ne: '' } };
      await tasks.updateMany(cleanup, { $set: { worker: '' }, $currentDate: stamp.$currentDate, $inc: { revision: 1, losses: 1 } });
      for (const paused of [false, true])
        await tasks.updateMany(
          { ...lost, paused },
          {
            $set: { state: TASK_STATE.pending, waiting: !paused, speed: 0, eta: null, ...NOBODY },
            $currentDate: stamp.$currentDate,
            $inc: { revision: 1, losses: 1 },
          },
        );
      return true;
    },

    async hurry(kind, count) {
      const now = clock.now();
      const postponed = { waiting: true, kind, state: TASK_STATE.pending, run_at: { $gt: now } };
      const first = await tasks.find(postponed, { _id: 1 }).sort({ run_at: 1 }).limit(count).lean();
      if (first.length === 0) return;
      await tasks.updateMany({ ...postponed, _id: { $in: first.map(({ _id }) => _id) } }, { $set: { run_at: now }, ...stamp });
    },
  };
}
