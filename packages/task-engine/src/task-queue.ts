import { duplicatesOf, isDuplicateKey, type TaskModels, type TaskRecord } from '@wharf/models';
import type { StoreClock } from './store-clock.ts';
import { CLEANUP_STATES, HELD_STATES, TASK_STATE } from './task-state.ts';

/** How long a worker holds a task without a sign of life, in milliseconds. */
export const LEASE_MS = 6_000;
/** So many workers in a row may be lost with a task that leaves nothing durable behind; then it is the task that ends them. */
const MAX_LOSSES = 20;
/** A cleanup that fails is tried so many times, after pauses that grow by this factor from the first: whatever it needs may be starting again. */
const MAX_CLEANUPS = 5;
const CLEANUP_PAUSE_MS = 2_000;
const CLEANUP_PAUSE_GROWTH = 3;
const LOST_TOO_OFTEN = 'every worker that took this task ended without a trace';

type Patch = Partial<Omit<TaskRecord, '_id' | 'updated_at' | 'revision' | 'fence'>>;
type Filter = Readonly<Record<string, unknown>>;

/** What workers do with tasks in the store. Each write is one compare-and-set; those of a worker carry its fence. */
export interface TaskQueue {
  /** @returns those that were not there yet */
  insert(records: readonly TaskRecord[]): Promise<readonly TaskRecord[]>;
  /** True when a task waits that may be taken; `kinds` are those that may. */
  hasWork(kinds: readonly string[]): Promise<boolean>;
  /**
   * Takes the first of the waiting tasks of a kind, with a fence of its own.
   *
   * @param closedKeys tasks with one of these are left alone. @param from so are those that were due before
   */
  claim(kind: string, closedKeys: readonly string[], worker: string, from?: Date): Promise<TaskRecord | undefined>;
  /**
   * Takes a task of one of the kinds that was cancelled or failed and is not yet put away.
   * @param mayTakeOver whether leases are believed: also from a worker that gave no sign of life
   */
  claimCleanup(kinds: readonly string[], worker: string, mayTakeOver: boolean): Promise<TaskRecord | undefined>;
  /** Looks for tasks whose worker gave no sign of life, and returns them to the queue if it may. True when there were some that it did so with. */
  reap(mayTakeOver: boolean): Promise<boolean>;
  /** A worker's write, which also renews its lease. Undefined: it holds the task no more, or not in one of these states; nothing changed. */
  write(id: string, fence: number, states: readonly number[], patch: Patch): Promise<TaskRecord | undefined>;
  /** Ends a held task in its final state. */
  finish(id: string, fence: number, states: readonly number[], patch: Patch & { state: number }): Promise<TaskRecord | undefined>;
  /** Gives a running task back so that another worker goes on, not before a while when `delayMs` is given. */
  handBack(id: string, fence: number, delayMs?: number, patch?: Patch): Promise<TaskRecord | undefined>;
  /** Makes due the first of those that were given back with a delay. */
  hurry(kind: string, count: number): Promise<void>;
  /** Lets a failed attempt wait for the next one. */
  waitForRetry(id: string, fence: number, delayMs: number, patch: Patch): Promise<TaskRecord | undefined>;
  /** Lets a failed cleanup wait for the next one. False: it has been tried often enough. */
  postponeCleanup(record: TaskRecord): Promise<boolean>;
  readChunk(id: string, index: number): Promise<string | undefined>;
  /** False: a newer worker has taken the chunk's task. */
  writeChunk(id: string, fence: number, index: number, body: string): Promise<boolean>;
  /** From here on no older worker can change the chunks that are there. */
  fenceChunks(id: string, fence: number): Promise<void>;
  removeChunks(ids: readonly string[]): Promise<void>;
}

/** What every write to a task adds. */
export const stamp = { $currentDate: { updated_at: true }, $inc: { revision: 1 } } as const;

export function createTaskQueue({ tasks, chunks }: TaskModels, clock: StoreClock): TaskQueue {
  const nowPlus = (ms: number) => new Date(clock.now().getTime() + ms);
  const nobody = { worker: '', lease_until: new Date(0) };

  const change = async (filter: Filter, patch: Patch): Promise<TaskRecord | undefined> =>
    (await tasks.findOneAndUpdate(filter, { $set: patch, ...stamp }, { returnDocument: 'after' }).lean<TaskRecord>()) ?? undefined;

  const held = (id: string, fence: number, states: readonly number[]): Filter => ({ _id: id, fence, state: { $in: states } });

  /** A task goes back to the queue, open to workers unless it is paused. */
  const release = async (filter: Filter, patch: Patch): Promise<TaskRecord | undefined> => {
    const back = { ...patch, ...nobody };
    return (
      (await change({ ...filter, paused: false }, { ...back, waiting: true })) ??
      (await change({ ...filter, paused: true }, { ...back, state: TASK_STATE.pending, waiting: false }))
    );
  };

  return {
    async insert(records) {
      try {
        await tasks.insertMany(records, { ordered: false, throwOnValidationError: true });
        return records;
      } catch (error) {
        const known = duplicatesOf(error);
        if (!known) throw error;
        return records.filter((_, index) => !known.has(index));
      }
    },

    async hasWork(kinds) {
      if (kinds.length === 0) return false;
      const filter = { waiting: true, kind: { $in: [...kinds] }, run_at: { $lte: clock.now() } };
      return (await tasks.findOne(filter, { _id: 1 }).lean()) !== null;
    },

    async claim(kind, closedKeys, worker, from) {
      const now = clock.now();
      const filter = {
        waiting: true,
        kind,
        run_at: { $lte: now, ...(from === undefined ? {} : { $gte: from }) },
        ...(closedKeys.length === 0 ? {} : { keys: { $nin: [...closedKeys] } }),
      };
      // A pipeline, because the first claim alone sets the start.
      const claimed = {
        state: TASK_STATE.running,
        waiting: false,
        worker,
        lease_until: nowPlus(LEASE_MS),
        start_time: { $ifNull: ['$start_time', now] },
        updated_at: '$$NOW',
        revision: { $add: ['$revision', 1] },
        fence: { $add: ['$fence', 1] },
      };
      const options = { sort: { run_at: 1 }, returnDocument: 'after', updatePipeline: true } as const;
      return (await tasks.findOneAndUpdate(filter, [{ $set: claimed }], options).lean<TaskRecord>()) ?? undefined;
    },

    async claimCleanup(kinds, worker, mayTakeOver) {
      const free = mayTakeOver ? {} : { worker: '' };
      const filter = { kind: { $in: [...kinds] }, state: { $in: CLEANUP_STATES }, lease_until: { $lte: clock.now() }, ...free };
      // Hardly ever there is one, and looking costs less than trying to change.
      if ((await tasks.findOne(filter, { _id: 1 }).lean()) === null) return undefined;
      const update = {
        $set: { worker, lease_until: nowPlus(LEASE_MS) },
        $currentDate: stamp.$currentDate,
        $inc: { revision: 1, fence: 1 },
      };
      return (await tasks.findOneAndUpdate(filter, update, { returnDocument: 'after' }).lean<TaskRecord>()) ?? undefined;
    },

    async reap(mayTakeOver) {
      const expired = { state: { $in: HELD_STATES }, lease_until: { $lte: clock.now() } };
      const found = await tasks.findOne(expired, { _id: 1 }).lean();
      if (found === null || !mayTakeOver) return false;
      const lost = { ...expired, state: TASK_STATE.running };
      await tasks.updateMany(
        { ...lost, losses: { $gte: MAX_LOSSES } },
        { $set: { state: TASK_STATE.failing, error: LOST_TOO_OFTEN, losses: 0 }, ...stamp },
      );
      for (const paused of [false, true])
        await tasks.updateMany(
          { ...lost, paused },
          {
            $set: { state: TASK_STATE.pending, waiting: !paused, speed: 0, eta: null, ...nobody },
            $currentDate: stamp.$currentDate,
            $inc: { revision: 1, losses: 1 },
          },
        );
      return true;
    },

    write: (id, fence, states, patch) => change(held(id, fence, states), { ...patch, lease_until: nowPlus(LEASE_MS) }),

    finish: (id, fence, states, patch) =>
      change(held(id, fence, states), {
        ...patch,
        ...nobody,
        done: true,
        paused: false,
        speed: 0,
        eta: null,
        phase: '',
        end_time: clock.now(),
      }),

    handBack: (id, fence, delayMs = 0, patch = {}) =>
      release(held(id, fence, [TASK_STATE.running]), {
        ...patch,
        state: TASK_STATE.pending,
        run_at: nowPlus(delayMs),
        speed: 0,
        eta: null,
      }),

    async hurry(kind, count) {
      const now = clock.now();
      const postponed = { waiting: true, kind, state: TASK_STATE.pending, run_at: { $gt: now } };
      const first = await tasks.find(postponed, { _id: 1 }).sort({ run_at: 1 }).limit(count).lean();
      if (first.length === 0) return;
      await tasks.updateMany({ ...postponed, _id: { $in: first.map(({ _id }) => _id) } }, { $set: { run_at: now }, ...stamp });
    },

    waitForRetry: (id, fence, delayMs, patch) =>
      release(held(id, fence, [TASK_STATE.running]), {
        ...patch,
        state: TASK_STATE.waitingRetry,
        run_at: nowPlus(delayMs),
        speed: 0,
        eta: null,
      }),

    async postponeCleanup(record) {
      const losses = record.losses + 1;
      if (losses >= MAX_CLEANUPS) return false;
      const pauseMs = CLEANUP_PAUSE_MS * CLEANUP_PAUSE_GROWTH ** record.losses;
      await change(held(record._id, record.fence, CLEANUP_STATES), { losses, lease_until: nowPlus(pauseMs), worker: '' });
      return true;
    },

    async readChunk(id, index) {
      return (await chunks.findById(chunkId(id, index)).lean())?.body;
    },

    async writeChunk(id, fence, index, body) {
      try {
        await chunks.updateOne(
          { _id: chunkId(id, index), fence: { $lte: fence } },
          { $set: { fence, body }, $setOnInsert: { task: id, index } },
          { upsert: true },
        );
        return true;
      } catch (error) {
        // The chunk is there under a higher fence, so the filter missed it and the insert met it.
        if (isDuplicateKey(error)) return false;
        throw error;
      }
    },

    async fenceChunks(id, fence) {
      await chunks.updateMany({ task: id, fence: { $lt: fence } }, { $set: { fence } });
    },

    async removeChunks(ids) {
      if (ids.length > 0) await chunks.deleteMany({ task: { $in: [...ids] } });
    },
  };
}

const chunkId = (id: string, index: number) => `${id}:${index}`;
