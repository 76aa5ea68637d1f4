import type { TaskModels, TaskRecord } from '@wharf/models';
import { requireCounters } from './odd-counters.ts';
import type { StoreClock } from './store-clock.ts';
import { inMs, LEASE_MS, stamp } from './task-lease.ts';
import { HELD_STATES, TASK_STATE } from './task-state.ts';
import { isConflict, MAX_CONFLICTS, updateEach } from './update-each.ts';

/** Tasks that are not to be taken: those with one of the keys, and those that one of the users made. */
export interface ClosedTo {
  readonly keys: readonly string[];
  readonly creators: readonly number[];
}

/** Which of the waiting tasks are looked at; all where nothing is said. */
export interface Among {
  /** Not those that were due before. */
  readonly from?: Date | undefined;
  /** Those of this user. */
  readonly user?: number;
}

/** Taking tasks that wait. */
export interface WaitingTasks {
  /**
   * Takes the first of the waiting tasks of a kind, with a fence of its own.
   *
   * @param closed tasks of these are left alone
   */
  claim(kind: string, closed: ClosedTo, worker: string, among?: Among): Promise<TaskRecord | undefined>;
  /** Takes the first few, in their order: none of them is another worker's, who may take some of them meanwhile. Empty: there is none. */
  claimSome(kind: string, closed: ClosedTo, worker: string, most: number, among?: Among): Promise<readonly TaskRecord[]>;
}

export function createWaitingTasks({ tasks }: Pick<TaskModels, 'tasks'>, clock: StoreClock): WaitingTasks {
  const takenBy = (worker: string) => ({ state: TASK_STATE.running, waiting: false, worker, lease_until: inMs(clock, LEASE_MS) });

  const claim: WaitingTasks['claim'] = async (kind, closed, worker, among) => {
    const now = clock.now();
    // A pipeline, because the first claim alone sets the start.
    const claimed = {
      ...takenBy(worker),
      start_time: { $ifNull: ['$start_time', now] },
      updated_at: '$$NOW',
      revision: { $add: ['$revision', 1] },
      fence: { $add: ['$fence', 1] },
    };
    const options = { sort: { run_at: 1 }, returnDocument: 'after', updatePipeline: true } as const;
    for (let tries = 1; ; tries += 1) {
      try {
        const first = waitingFor(now, kind, closed, among);
        const record = await tasks.findOneAndUpdate(first, [{ $set: claimed }], options).lean<TaskRecord>();
        return record === null ? undefined : requireCounters(record);
      } catch (error) {
        if (tries === MAX_CONFLICTS || !isConflict(error)) throw error;
      }
    }
  };

  /** Each by a compare-and-set. Who has changed nothing of a task since it was found knows all of it: it need not be read again. */
  const take = async (found: readonly TaskRecord[], worker: string): Promise<readonly TaskRecord[]> => {
    const held = takenBy(worker);
    const now = clock.now();
    const taken = found.map(requireCounters).map((record) => ({
      ...record,
      ...held,
      start_time: record.start_time ?? now,
      revision: record.revision + 1,
      fence: record.fence + 1,
    }));
    const updates = taken.map(({ _id, revision, start_time }) => ({
      filter: { _id, revision: revision - 1, waiting: true },
      update: { $set: { ...held, start_time }, $currentDate: stamp.$currentDate, $inc: { revision: 1, fence: 1 } },
    }));
    const met = await updateEach(tasks, updates).catch((error: unknown) => {
      if (isConflict(error)) return undefined;
      throw error;
    });
    if (met === found.length) return taken;
    const own = { _id: { $in: found.map(({ _id }) => _id) }, worker, state: { $in: HELD_STATES } };
    const ids = new Set((await tasks.find(own, { _id: 1 }).lean()).map(({ _id }) => _id));
    return taken.filter(({ _id }) => ids.has(_id));
  };

  return {
    claim,
    async claimSome(kind, closed, worker, most, among) {
      if (most > 1) {
        const found = await tasks
          .find(waitingFor(clock.now(), kind, closed, among))
          .sort({ run_at: 1 })
          .limit(most)
          .lean<TaskRecord[]>();
        if (found.length === 0) return [];
        const taken = await take(found, worker);
        if (taken.length > 0) return taken;
      }
      // Others were sooner with all of them: of one the store itself sees to that.
      const one = await claim(kind, closed, worker, among);
      return one ? [one] : [];
    },
  };
}

/** The tasks that may be taken. */
function waitingFor(now: Date, kind: string, { keys, creators }: ClosedTo, { from, user }: Among = {}) {
  return {
    waiting: true,
    kind,
    run_at: { $lte: now, ...(from === undefined ? {} : { $gte: from }) },
    ...(keys.length === 0 ? {} : { keys: { $nin: [...keys] } }),
    ...(creators.length === 0 ? {} : { creator_id: { $nin: [...creators] } }),
    ...(user === undefined ? {} : { creator_id: user }),
  };
}
