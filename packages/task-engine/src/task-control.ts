import { AppError } from '@wharf/errors';
import type { TaskModels, TaskRecord } from '@wharf/models';
import { createUserTurns } from '@wharf/pace';
import { type MayStill, nowAndThen } from './now-and-then.ts';
import type { StoreClock } from './store-clock.ts';
import { stamp } from './task-lease.ts';
import { CLEANUP_STATES, DONE_STATES, QUEUED_STATES, TASK_STATE } from './task-state.ts';
import { updateInSteps } from './update-in-steps.ts';
import { SHOWN, type ShownRecord } from './wire-task.ts';

export const TASK_ACTIONS = ['cancel', 'delete', 'retry', 'pause', 'resume'] as const;
export type TaskAction = (typeof TASK_ACTIONS)[number];

/** Whose tasks: a user's own, or everybody's. */
export interface TaskScope {
  /** Undefined: everybody's. */
  readonly creatorId: number | undefined;
  /** Asked by what has waited for its turn before it changes anything, and on and on by what takes long: whether the login that it came with has not ended. Rejects where it has. Absent: nobody needs it. */
  readonly mayStill?: MayStill | undefined;
}

/**
 * Takes room for so many tasks of a user that have ended and are to be open again.
 *
 * @param creatorId 0: nobody's
 * @returns is to be called once they are, or may be. @throws AppError RATE_LIMITED
 */
export type Reopen = (creatorId: number, count: number) => Promise<() => void>;

/** What people do with tasks. Each change is one compare-and-set, whoever works on the task meanwhile. */
export interface TaskControl {
  /** @throws AppError TASK_NOT_FOUND: none of this id, somebody else's, or of another list */
  get(id: string, list: string, scope: TaskScope): Promise<TaskRecord>;
  /** The newest first; `limit` 0 is all. */
  list(query: { list: string; done: boolean; skip: number; limit: number }, scope: TaskScope): AsyncIterable<ShownRecord>;
  /**
   * Does the action when the task's state allows it, else nothing: a task that has ended is not cancelled.
   * @returns the task after the change; undefined when nothing changed. @throws AppError TASK_NOT_FOUND; what {@link Reopen} throws, before a change
   */
  apply(action: TaskAction, id: string, list: string, scope: TaskScope): Promise<TaskRecord | undefined>;
  /** Forgets all that ended in one of these states. */
  clear(list: string, states: readonly number[], scope: TaskScope): Promise<void>;
  /** Retries all that failed, and for which there is room. @throws what {@link Reopen} throws of the first user, when those of all others are retried */
  retryFailed(list: string, scope: TaskScope): Promise<void>;
  /** How many tasks of a user, or of everybody, have not ended, up to a limit. */
  countOpen(creatorId: number | undefined, limit: number): Promise<number>;
  /** True while one of these is being cancelled. */
  anyCanceling(ids: readonly string[]): Promise<boolean>;
}

interface FoundTasks extends AsyncIterable<ShownRecord> {
  next(): Promise<ShownRecord | null>;
  close(): Promise<void>;
}

type Change = Partial<Omit<TaskRecord, '_id' | 'updated_at' | 'revision' | 'fence'>>;
/** From a state described by a filter to another one. */
type Step = readonly [filter: Readonly<Record<string, unknown>>, change: Change];

/** A task may change its state between the read and the write. This bounds the tries. */
const MAX_ROUNDS = 5;
const BATCH = 500;
const FORGOTTEN = { $set: { forget: true }, ...stamp };

/** @param reopen asked before tasks that have ended are open again: they count as those that are added */
export function createTaskControl({ tasks }: TaskModels, clock: StoreClock, reopen: Reopen): TaskControl {
  const visible = (list: string, { creatorId }: TaskScope) => ({
    list,
    forget: false,
    ...(creatorId === undefined ? {} : { creator_id: creatorId }),
  });

  /** Changes to all take longer than lists, which are not to wait for them. */
  const [inTurn, inTurnToChange] = [createUserTurns(), createUserTurns()];

  const get = async (id: string, list: string, scope: TaskScope): Promise<TaskRecord> => {
    const record = await tasks.findOne({ _id: id, ...visible(list, scope) }).lean<TaskRecord>();
    if (!record) throw new AppError('TASK_NOT_FOUND', 'task not found');
    return record;
  };

  /** Whose tasks meet a filter. Read by and by: to be asked which there are, an embedded store goes through all of them in one turn. */
  const creatorsOf = async (filter: Readonly<Record<string, unknown>>): Promise<ReadonlySet<number>> => {
    const creators = new Set<number>();
    const found = tasks.find(filter, { creator_id: 1 }).batchSize(BATCH).lean<Pick<TaskRecord, 'creator_id'>[]>().cursor();
    for await (const { creator_id } of found as AsyncIterable<Pick<TaskRecord, 'creator_id'>>) creators.add(creator_id);
    return creators;
  };

  return {
    get,

    async *list({ list, done, skip, limit }, scope) {
      const query = tasks
        .find({ ...visible(list, scope), done }, SHOWN)
        .sort({ created_at: -1 })
        .skip(skip)
        .limit(limit)
        .batchSize(BATCH);
      const found = query.lean<ShownRecord[]>().cursor() as FoundTasks;
      try {
        // The first of a late page: the store steps over all before it.
        const first = await inTurn(scope.creatorId, () => found.next());
        if (first === null) return;
        yield first;
        yield* found;
      } finally {
        await found.close();
      }
    },

    async apply(action, id, list, scope) {
      for (let round = 0; round < MAX_ROUNDS; round += 1) {
        const before = await get(id, list, scope);
        const steps = STEPS[action](clock.now());
        if (!steps.some(([filter]) => meets(before, filter))) return undefined;
        const settle = action === 'retry' && before.done ? await reopen(before.creator_id, 1) : () => {};
        try {
          for (const [filter, change] of steps) {
            const after = await tasks
              .findOneAndUpdate({ _id: id, ...visible(list, scope), ...filter }, { $set: change, ...stamp }, { returnDocument: 'after' })
              .lean<TaskRecord>();
            if (after) return after;
          }
        } finally {
          settle();
        }
      }
      return undefined;
    },

    async clear(list, states, scope) {
      const filter = { ...visible(list, scope), done: true, state: { $in: [...states] } };
      const requireStill = nowAndThen(scope.mayStill);
      await inTurnToChange(scope.creatorId, () => updateInSteps(tasks, filter, FORGOTTEN, (_, change) => requireStill().then(change)));
    },

    async retryFailed(list, scope) {
      const filter = { ...visible(list, scope), done: true, state: TASK_STATE.failed };
      const update = { $set: queuedAgain(clock.now()), ...stamp };
      const requireStill = nowAndThen(scope.mayStill);
      await inTurnToChange(scope.creatorId, async () => {
        let refusal: AppError | undefined;
        for (const creator_id of scope.creatorId === undefined ? await creatorsOf(filter) : [scope.creatorId]) {
          const step = async (count: number, change: () => Promise<unknown>) => {
            await requireStill();
            const settle = await reopen(creator_id, count);
            await change().finally(settle);
          };
          await updateInSteps(tasks, { ...filter, creator_id }, update, step).catch((error: unknown) => {
            if (!AppError.is(error, 'RATE_LIMITED')) throw error;
            refusal ??= error;
          });
        }
        if (refusal) throw refusal;
      });
    },

    countOpen: (creatorId, limit) =>
      tasks.countDocuments({ ...(creatorId === undefined ? {} : { creator_id: creatorId }), done: false }, { limit }).exec(),

    async anyCanceling(ids) {
      return (await tasks.findOne({ _id: { $in: [...ids] }, state: TASK_STATE.canceling }, { _id: 1 }).lean()) !== null;
    },
  };
}

const inStates = (states: readonly number[]) => ({ state: { $in: states } });

const queuedAgain = (now: Date): Change => ({
  state: TASK_STATE.waitingRetry,
  waiting: true,
  done: false,
  paused: false,
  run_at: now,
  start_time: null,
  end_time: null,
  progress: 0,
  done_bytes: 0,
  status: '',
  error: '',
  error_code: '',
  failures: 0,
  losses: 0,
});

/** Ended before anybody worked on it. */
const endedAtOnce = (now: Date): Change => ({ state: TASK_STATE.canceled, waiting: false, done: true, paused: false, end_time: now });
/** Left to a worker that puts away what is there. */
const leftForCleanup = { state: TASK_STATE.canceling, waiting: false, paused: false, losses: 0, lease_until: new Date(0) } as const;

/** What an action does to a task, by the state that it is in. At most one filter is met at a time. */
export const STEPS: Readonly<Record<TaskAction, (now: Date) => readonly Step[]>> = {
  cancel: (now) => [
    [{ ...inStates(QUEUED_STATES), has_cleanup: false }, endedAtOnce(now)],
    [{ ...inStates(QUEUED_STATES), has_cleanup: true }, leftForCleanup],
    [{ state: TASK_STATE.running }, { state: TASK_STATE.canceling, losses: 0 }],
  ],
  delete: (now) => [
    [inStates([...DONE_STATES, ...CLEANUP_STATES]), { forget: true }],
    [
      { ...inStates(QUEUED_STATES), has_cleanup: false },
      { ...endedAtOnce(now), forget: true },
    ],
    [
      { ...inStates(QUEUED_STATES), has_cleanup: true },
      { ...leftForCleanup, forget: true },
    ],
    [{ state: TASK_STATE.running }, { state: TASK_STATE.canceling, losses: 0, forget: true }],
  ],
  retry: (now) => [
    [inStates([TASK_STATE.canceled, TASK_STATE.failed]), queuedAgain(now)],
    // What it did is done: it begins anew.
    [{ state: TASK_STATE.succeeded }, { ...queuedAgain(now), checkpoint: '' }],
    [{ state: TASK_STATE.waitingRetry }, { ...queuedAgain(now) }],
  ],
  pause: () => [
    [
      { ...inStates(QUEUED_STATES), paused: false },
      { paused: true, waiting: false, state: TASK_STATE.pending },
    ],
    [{ state: TASK_STATE.running, paused: false }, { paused: true }],
  ],
  resume: (now) => [
    [
      { ...inStates(QUEUED_STATES), paused: true },
      { paused: false, waiting: true, run_at: now },
    ],
    [{ state: TASK_STATE.running, paused: true }, { paused: false }],
  ],
};

/** True when a record meets one of the filters above: equality, or one of several states. @internal for its test */
export function meets(record: Pick<TaskRecord, 'state' | 'paused' | 'has_cleanup'>, filter: Readonly<Record<string, unknown>>): boolean {
  return Object.entries(filter).every(([key, wanted]) => {
    const value: unknown = Reflect.get(record, key);
    if (typeof wanted === 'object' && wanted !== null && '$in' in wanted && Array.isArray(wanted.$in)) return wanted.$in.includes(value);
    return value === wanted;
  });
}
