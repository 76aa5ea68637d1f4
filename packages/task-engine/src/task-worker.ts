import { randomInt, randomUUID } from 'node:crypto';
import { MAX_WAKE_IDS, type TaskOwner, type TaskRecord, taskProgressed, taskWake } from '@wharf/models';
import { type Bus, type Logger, type Tracing, within } from '@wharf/service-kit';
import type { z } from 'zod';
import { createChangeHints, type TaskChanges } from './change-hints.ts';
import { createClaimRounds } from './claim-rounds.ts';
import type { Housekeeping } from './housekeeping.ts';
import type { Place } from './places.ts';
import { attemptOf } from './raw-run.ts';
import { startRun } from './run-task.ts';
import type { StoreClock } from './store-clock.ts';
import { createStoreContact } from './store-contact.ts';
import type { TaskKind } from './task-kind.ts';
import type { TaskMetrics } from './task-metrics.ts';
import type { TaskQueue } from './task-queue.ts';
import { wireTask } from './wire-task.ts';
import { createWorkerRuns, type WorkerRuns, type WorkLimits } from './worker-runs.ts';

/** How often a worker looks for tasks and expired leases when nobody tells it, in milliseconds. */
const POLL_MS = 1_000;
const HOUSEKEEPING_MS = 60_000;
/** So much longer at most, for each worker another time: those that were started together do not all do the same work. */
const HOUSEKEEPING_SPREAD_MS = 20_000;
/** The store may be silent for so long before a look at it is given up and another one begun, in milliseconds. */
const SILENCE_MS = 60_000;
/** What is added is left to the worker that adds it for so long, in milliseconds, before others are told. */
const OWN_LOOK_MS = 50;
/** Those who are told look within so many milliseconds, each at another time: what the first takes the others do not see any more. */
const LOOK_SPREAD_MS = 100;
/** How long runs may take to save what they have when this worker stops, in milliseconds. */
const STOP_LIMIT_MS = 3_000;
/** One replica at work on an owner's queue. */
export interface TaskWorker {
  start(): void;
  /** Claims no more and hands running tasks back. Safe twice. */
  stop(): Promise<void>;
  /** Tells everybody who watches that something about a task changed. */
  announce(record: TaskRecord): void;
  /** Makes the workers of other replicas read these tasks and look for work. */
  wakeOthers(ids: readonly string[]): void;
  /** Has all workers do so. */
  changed(ids: readonly string[]): void;
  /** Tasks were queued. */
  added(records: readonly TaskRecord[]): void;
}

export interface TaskWorkerOptions extends WorkLimits {
  readonly owner: TaskOwner;
  readonly bus: Bus;
  readonly logger: Logger;
  readonly tracing: Tracing;
  /** By their names. */
  readonly kinds: ReadonlyMap<string, TaskKind<never>>;
  readonly queue: TaskQueue;
  readonly clock: StoreClock;
  readonly metrics: TaskMetrics;
  readonly housekeeping: Housekeeping;
}

export function createTaskWorker(options: TaskWorkerOptions): TaskWorker {
  const { bus, logger, tracing, queue, clock, metrics } = options;
  const progressed = taskProgressed(options.owner);
  const wake = taskWake(options.owner);
  const id = randomUUID();
  const repeats = createRepeats(logger);
  let isStopped = false;

  const hints = createChangeHints((changes) => bus.publish(progressed, eventOf(changes)));
  const announce = (record: TaskRecord) => hints.changed(record);
  const wakeOthers = (ids: readonly string[]) => {
    for (let start = 0; start === 0 || start < ids.length; start += MAX_WAKE_IDS)
      bus.publish(wake, { ids: ids.slice(start, start + MAX_WAKE_IDS), from: id });
  };

  /** Of what was added a moment ago, what was not taken here. */
  const untaken = new Set<Set<string>>();
  const start = (record: TaskRecord, place: Place | undefined) => {
    const kind = options.kinds.get(record.kind);
    if (!kind) throw new Error(`there is no kind of task ${record.kind}`);
    announce(record);
    for (const ids of untaken) ids.delete(record._id);
    const onAttempt = (result: string) => metrics.countAttempt(kind.name, result);
    const onStored = (stored: TaskRecord) => hints.changed(stored, true);
    return startRun({ queue, kind, logger, tracing, place, onChange: announce, onStored, onAttempt }, record);
  };
  const runs = createWorkerRuns({ ...options, isSmall: isSmallOf(options.kinds) }, start, {
    onRoom: (isCleanup) => (isCleanup ? rounds.look() : rounds.pump()),
    onPassedOn: () => wakeOthers([]),
  });
  const rounds = createClaimRounds({
    queue,
    clock,
    contact: createStoreContact(),
    runs,
    kinds: [...options.kinds.keys()],
    worker: id,
    logger,
    onClaim: metrics.observeClaim,
  });
  const spread = createSpreadLook(() => rounds.look());

  return {
    announce,
    wakeOthers,
    changed(ids) {
      wakeOthers(ids);
      runs.look(ids);
      rounds.look();
    },
    added(records) {
      for (const record of records) announce(record);
      // What waits behind a limit would be passed over one by one.
      const [first] = records;
      const closed = runs.closedTo(first?.kind ?? '');
      const isClosed = ({ keys, creator_id: creator }: TaskRecord) =>
        closed.creators.includes(creator) || keys.some((key) => closed.keys.includes(key));
      if (records.every(isClosed)) return wakeOthers([]);
      // Others are needed for what this worker leaves.
      const left = new Set(records.map(({ _id }) => _id));
      untaken.add(left);
      rounds.look();
      void within(OWN_LOOK_MS, rounds.ended(), 'still claiming')
        .catch(() => undefined)
        .then(() => {
          untaken.delete(left);
          if (left.size > 0) wakeOthers([]);
        });
    },
    start() {
      if (isStopped) return;
      bus.subscribe(wake, ({ ids, from }) => {
        if (isStopped || from === id) return;
        runs.look(ids);
        spread.look();
      });
      repeats.add(POLL_MS, 'the queue of tasks could not be read', rounds.poll);
      repeats.add(HOUSEKEEPING_MS + randomInt(HOUSEKEEPING_SPREAD_MS), 'old tasks could not be removed', () => options.housekeeping.run());
      rounds.look();
    },
    async stop() {
      if (isStopped) return;
      isStopped = true;
      repeats.stop();
      spread.stop();
      const hadWork = runs.current().length > 0;
      runs.stop();
      await handBackAll(queue, runs, rounds.stop(), logger);
      hints.close();
      if (hadWork) wakeOthers([]);
    },
  };
}

function eventOf({ last, creators, stored }: TaskChanges): z.output<ReturnType<typeof taskProgressed>['schema']> {
  const { _id, list, creator_id: creatorId, state, progress } = last;
  const tasks = stored?.map((record) => ({ creatorId: record.creator_id, revision: record.revision, shown: wireTask(record) }));
  return { id: _id, list, creatorId, state, progress, ...(creators && { creators: [...creators] }), ...(tasks && { tasks }) };
}

/** A task of few bytes that nobody has begun: what an attempt tells of its bytes may be a part of them. */
const isSmallOf = (kinds: TaskWorkerOptions['kinds']) => (record: TaskRecord) => {
  const { kind, total_bytes: bytes } = record;
  return bytes > 0 && bytes <= (kinds.get(kind)?.smallBytes ?? 0) && attemptOf(record) === 1;
};

/** One look for all who ask for it within LOOK_SPREAD_MS. */
function createSpreadLook(look: () => void) {
  let timer: NodeJS.Timeout | undefined;
  return {
    look(): void {
      timer ??= setTimeout(() => {
        timer = undefined;
        look();
      }, randomInt(LOOK_SPREAD_MS)).unref();
    },
    stop: () => clearTimeout(timer),
  };
}

/** Waits a while for runs that were told to stop, and returns to the queue what they leave. @param claimed no more are begun */
async function handBackAll(queue: TaskQueue, runs: WorkerRuns, claimed: Promise<void>, logger: Logger): Promise<void> {
  let limit: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    limit = setTimeout(resolve, STOP_LIMIT_MS);
  });
  const ended = claimed.then(() => Promise.all(runs.current().map((run) => run.ended)));
  await Promise.race([ended, late]);
  clearTimeout(limit);
  // A run that does not end is left behind its fence: what it still writes is refused.
  const left = runs.current().map(({ record }) => queue.handBack(record._id, record.fence));
  for (const result of await Promise.allSettled(left))
    if (result.status === 'rejected') logger.warn({ err: result.reason }, 'a task could not be handed back; its lease runs out');
}

/** Work that is repeated until `stop()`. Two rounds never run at once. */
function createRepeats(logger: Logger) {
  const timers: NodeJS.Timeout[] = [];
  return {
    add(intervalMs: number, failure: string, work: () => Promise<void>): void {
      let isBusy = false;
      const timer = setInterval(() => {
        if (isBusy) return;
        isBusy = true;
        within(SILENCE_MS, work(), 'the store does not answer')
          .catch((error) => logger.warn({ err: error }, failure))
          .finally(() => {
            isBusy = false;
          });
      }, intervalMs);
      timers.push(timer);
    },
    stop(): void {
      for (const timer of timers) clearInterval(timer);
    },
  };
}
