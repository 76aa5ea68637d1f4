import type { TaskModels, TaskRecord } from '@wharf/models';
import { createSharedWrites } from './shared-writes.ts';
import type { StoreClock } from './store-clock.ts';
import { inMs, LEASE_MS, NOBODY, stamp } from './task-lease.ts';
import { CLEANUP_STATES, TASK_STATE } from './task-state.ts';

/**
 * How often a cleanup that fails is tried, the first pause, and the factor by which pauses grow. A service that the cleanup needs may be
 * starting again.
 */
export const MAX_CLEANUPS = 5;
const CLEANUP_PAUSE_MS = 2_000;
const CLEANUP_PAUSE_GROWTH = 3;

type Patch = Partial<Omit<TaskRecord, '_id' | 'updated_at' | 'revision' | 'fence'>>;
type Filter = Readonly<Record<string, unknown>>;

/** What a worker does with a task that it holds. Each is one compare-and-set that carries the worker's fence. */
export interface HeldTasks {
  /**
   * A worker's write, which also renews its lease. Undefined: the worker no longer holds the task, or the task is in none of these states;
   * nothing changed.
   */
  write(id: string, fence: number, states: readonly number[], patch: Patch): Promise<TaskRecord | undefined>;
  /** How long ago this worker asked for the lease that it has since it took the task, in milliseconds by the store's clock. */
  askedAgoMs(record: TaskRecord): number;
  /** Ends a held task in its final state; those that end at once are written together. To ask again when no answer came is harmless. @returns false: as `write` */
  finish(id: string, fence: number, states: readonly number[], patch: Patch & { state: number }): Promise<boolean>;
  /** Gives a running task back to the queue. Another worker goes on, after `delayMs` when that is given; its turn is by that time unless `patch` has another one. */
  handBack(id: string, fence: number, delayMs?: number, patch?: Patch): Promise<TaskRecord | undefined>;
  /** Gives back a task that was taken and not begun: it has its turn, and its attempts, as before. */
  passOn(record: TaskRecord): Promise<TaskRecord | undefined>;
  /** Lets a failed attempt wait for the next one. */
  waitForRetry(id: string, fence: number, delayMs: number, patch: Patch): Promise<TaskRecord | undefined>;
  /** Lets a failed cleanup wait for the next one. False: it has been tried often enough. */
  postponeCleanup(record: TaskRecord): Promise<boolean>;
}

export function createHeldTasks({ tasks }: Pick<TaskModels, 'tasks'>, clock: StoreClock): HeldTasks {
  const writeTogether = createSharedWrites({ tasks });
  const change = async (filter: Filter, patch: Patch): Promise<TaskRecord | undefined> =>
    (await tasks.findOneAndUpdate(filter, { $set: patch, ...stamp }, { returnDocument: 'after' }).lean<TaskRecord>()) ?? undefined;

  const held = (id: string, fence: number, states: readonly number[]): Filter => ({ _id: id, fence, state: { $in: states } });

  /** A task goes back to the queue, open to workers unless it is paused. */
  const release = async (filter: Filter, patch: Patch): Promise<TaskRecord | undefined> => {
    const back = { ...patch, ...NOBODY };
    return (
      (await change({ ...filter, paused: false }, { ...back, waiting: true })) ??
      (await change({ ...filter, paused: true }, { ...back, state: TASK_STATE.pending, waiting: false }))
    );
  };

  const handBack: HeldTasks['handBack'] = (id, fence, delayMs = 0, patch = {}) =>
    release(held(id, fence, [TASK_STATE.running]), {
      run_at: inMs(clock, delayMs),
      ...patch,
      state: TASK_STATE.pending,
      speed: 0,
      eta: null,
    });

  return {
    write: (id, fence, states, patch) => change(held(id, fence, states), { ...patch, lease_until: inMs(clock, LEASE_MS) }),

    // Where the store's clock was set back since, it would be known for sure until it shows the old time again.
    askedAgoMs: ({ lease_until }) => Math.max(0, LEASE_MS - (lease_until.getTime() - clock.now().getTime())),

    finish: (id, fence, states, patch) =>
      writeTogether({
        filter: held(id, fence, [...states, patch.state]),
        update: {
          $set: { ...patch, ...NOBODY, done: true, paused: false, speed: 0, eta: null, phase: '', end_time: clock.now() },
          ...stamp,
        },
      }),

    handBack,

    passOn: ({ _id, fence, run_at, unbegun = 0 }) => handBack(_id, fence, 0, { run_at, unbegun: unbegun + 1 }),

    waitForRetry: (id, fence, delayMs, patch) =>
      release(held(id, fence, [TASK_STATE.running]), {
        ...patch,
        state: TASK_STATE.waitingRetry,
        run_at: inMs(clock, delayMs),
        speed: 0,
        eta: null,
      }),

    async postponeCleanup(record) {
      const losses = record.losses + 1;
      if (losses >= MAX_CLEANUPS) return false;
      const pauseMs = CLEANUP_PAUSE_MS * CLEANUP_PAUSE_GROWTH ** record.losses;
      await change(held(record._id, record.fence, CLEANUP_STATES), { losses, lease_until: inMs(clock, pauseMs), worker: '' });
      return true;
    },
  };
}
