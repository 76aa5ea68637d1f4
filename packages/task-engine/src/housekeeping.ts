import type { TaskModels } from '@wharf/models';
import type { StoreClock } from './store-clock.ts';
import { createTaskChunkStore } from './task-chunks.ts';
import { NOBODY, stamp } from './task-lease.ts';
import { HELD_STATES, QUEUED_STATES, TASK_STATE } from './task-state.ts';
import { updateInSteps } from './update-in-steps.ts';

/** What is kept of an owner's tasks that have ended: the newest of them, and none longer than this. */
const MAX_DONE_TASKS = 10_000;
const MAX_DONE_AGE_MS = 30 * 86_400_000;
/** A deleted task stays for so long, unseen, so that every watcher learns of it; in milliseconds. */
const TOMBSTONE_MS = 60_000;
const BATCH = 500;
/** Tasks of another worker's kind that are read at a time: an embedded store does nothing else meanwhile, and some name thousands of files. */
const READ_AT_A_TIME = 50;
/** Tasks of a kind that no worker has are given up when nothing has happened to any of the kind for so long, in milliseconds. */
const ABANDONED_MS = 86_400_000;
/**
 * How long this worker must have found a kind so before it gives tasks up, by its own clock that nobody sets. After an outage of all replicas, the
 * one that has the kind may start last; and where the store's clock was set ahead, all of a live one seems to be of the day before.
 */
const WATCHING_MS = 3_600_000;
/** How often it looks for such kinds, in milliseconds. */
const LOOK_MS = 600_000;
/** No lease and no pause is as long as this, in milliseconds. What lies further ahead was written before the store's clock was set back. */
const AHEAD_MS = 600_000;
const ABANDONED = 'the only worker that could do this has been away for a day';

/** Removes old tasks, and fails tasks of kinds that no worker has any more. Any replica may do it, also several at once. */
export interface Housekeeping {
  run(): Promise<void>;
}

/**
 * @param kinds that this worker has: others may be those of a single replica, which can go away for ever
 * @param nowMs milliseconds, monotonic
 */
export function createHousekeeping(
  { tasks, chunks }: TaskModels,
  clock: StoreClock,
  kinds: readonly string[],
  maxDone = MAX_DONE_TASKS,
  nowMs = () => performance.now(),
): Housekeeping {
  /** Kinds of which nothing has been seen for a day, and since when each look has found them so. */
  let unseenSince: ReadonlyMap<string, number> = new Map();
  let lookedAtMs = nowMs();
  const { removeChunks } = createTaskChunkStore({ chunks });
  const before = (ms: number) => new Date(clock.now().getTime() - ms);
  const forgetUntil = (end: Date) =>
    updateInSteps(tasks, { done: true, forget: false, end_time: { $lte: end } }, { $set: { forget: true }, ...stamp });

  const giveUp = async () => {
    if (nowMs() - lookedAtMs < LOOK_MS) return;
    lookedAtMs = nowMs();
    const now = clock.now();
    const longAgo = before(ABANDONED_MS);
    const unseen = new Map<string, number>();
    for (const kind of await kindsOf({ tasks })) {
      if (kinds.includes(kind)) continue;
      if (await isAbandoned({ tasks }, kind, longAgo)) unseen.set(kind, unseenSince.get(kind) ?? nowMs());
    }
    unseenSince = unseen;
    for (const [kind, sinceMs] of unseen) {
      if (nowMs() - sinceMs < WATCHING_MS) continue;
      const ended = { done: true, waiting: false, worker: '', phase: '', speed: 0, eta: null, end_time: now };
      const failed = { ...ended, state: TASK_STATE.failed, error: ABANDONED, error_code: 'UNSUPPORTED_OPERATION' };
      const still = { kind, done: false, paused: false, updated_at: { $lte: longAgo } };
      const due = { ...still, run_at: { $lte: longAgo } };
      await updateInSteps(tasks, { ...due, waiting: true, state: { $in: [...QUEUED_STATES] } }, { $set: failed, ...stamp });
      await updateInSteps(tasks, { ...due, waiting: false, state: TASK_STATE.failing }, { $set: failed, ...stamp });
      const canceled = { $set: { ...ended, state: TASK_STATE.canceled }, ...stamp };
      await updateInSteps(tasks, { ...still, waiting: false, state: TASK_STATE.canceling }, canceled);
    }
  };

  /** The store's clock was set back: what was to happen soon would not happen until it shows the old time again. */
  const setRight = async () => {
    const ahead = before(-AHEAD_MS);
    const now = clock.now();
    const late = { waiting: true, kind: { $in: [...kinds] }, run_at: { $gt: ahead } };
    await updateInSteps(tasks, late, { $set: { run_at: now }, ...stamp });
    // A live worker has written a shorter lease by now. Of one that lives on all the same, the fence refuses what it still writes.
    const held = { state: { $in: HELD_STATES }, kind: { $in: [...kinds] }, lease_until: { $gt: ahead } };
    await updateInSteps(tasks, held, { $set: { lease_until: NOBODY.lease_until, run_at: now }, ...stamp });
  };

  return {
    async run() {
      await setRight();
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
        await removeChunks(ids);
        await tasks.deleteMany({ _id: { $in: ids }, forget: true });
      }
    },
  };
}

/** Those that some task has, found one after the other by an index: to be asked which there are, an embedded store goes through all tasks in one turn. */
async function kindsOf({ tasks }: Pick<TaskModels, 'tasks'>): Promise<ReadonlySet<string>> {
  const found = new Set<string>();
  for (const waiting of [true, false])
    for (let above = ''; ; ) {
      const next = await tasks
        .findOne({ waiting, kind: { $gt: above } }, { kind: 1 })
        .sort({ kind: 1 })
        .lean();
      if (!next) break;
      found.add(next.kind);
      above = next.kind;
    }
  return found;
}

/** Whether tasks of a kind have not ended, and nothing has happened to any of the kind since: a live worker of it touches one of them regularly, also when many wait. */
async function isAbandoned({ tasks }: Pick<TaskModels, 'tasks'>, kind: string, since: Date): Promise<boolean> {
  let hasOpen = false;
  for (const waiting of [true, false]) {
    // By the driver itself: its cursor ends with the loop, one of mongoose stays in the store. Of a kind that lives the first one tells so.
    const options = { projection: { _id: 0, done: 1, paused: 1, updated_at: 1 }, sort: { run_at: -1 }, batchSize: READ_AT_A_TIME } as const;
    for await (const { done, paused, updated_at } of tasks.collection.find({ waiting, kind }, options)) {
      if (updated_at > since) return false;
      hasOpen ||= !done && !paused;
    }
  }
  return hasOpen;
}
