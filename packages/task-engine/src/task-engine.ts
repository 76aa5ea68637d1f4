import { randomUUID } from 'node:crypto';
import { type TaskOwner, type TaskRecord, taskModelsOf, taskProgressed, taskWake } from '@wharf/models';
import { type Bus, type Logger, type StoreConnection, within } from '@wharf/service-kit';
import type { Registry } from 'prom-client';
import { createHousekeeping } from './housekeeping.ts';
import { createOpenLimit } from './open-limit.ts';
import { createPassedOver } from './passed-over.ts';
import { type ActiveRun, startRun } from './run-task.ts';
import { createStoreClock } from './store-clock.ts';
import { createStoreContact } from './store-contact.ts';
import { createTaskControl, type TaskAction, type TaskControl, type TaskScope } from './task-control.ts';
import { newTaskId } from './task-id.ts';
import type { TaskCreator, TaskKind } from './task-kind.ts';
import { createTaskMetrics } from './task-metrics.ts';
import { createTaskQueue } from './task-queue.ts';
import { TASK_STATE } from './task-state.ts';

/** How often a worker looks for tasks and expired leases when nobody tells it, in milliseconds. */
const POLL_MS = 1_000;
const HOUSEKEEPING_MS = 60_000;
/** The store may be silent for so long before a look at it is given up and another one begun, in milliseconds. */
const SILENCE_MS = 60_000;
/** How long runs may take to save what they have when this worker stops, in milliseconds. */
const STOP_LIMIT_MS = 3_000;
/** Cleanups that run at a time beside the tasks themselves. */
const MAX_CLEANUPS = 4;
const DEFAULT_CONCURRENCY = 5;
/** Postponed tasks that are looked at again when something may have changed for them; the others have their time. */
const HURRIED_AT_A_TIME = 16;
/** Tasks of one call that are changed at a time. */
const PARALLEL_CHANGES = 16;

export interface NewTask<Input> {
  /** Where a task is made again by whoever goes on with the work that makes it: what {@link derivedTaskId} says. Undefined: a new one. */
  readonly id?: string;
  /** As in semantics of the family's API: clients parse it. */
  readonly name: string;
  /** Undefined: nobody's. */
  readonly creator: TaskCreator | undefined;
  readonly input: Input;
  /** 0 or undefined: not known yet. */
  readonly totalBytes?: number;
  /** What it shares a limit with others by, for example `tool:SimpleHttp`. */
  readonly keys?: readonly string[];
  readonly status?: string;
}

export interface TaskEngine {
  /** Queues a task durably. @throws AppError RATE_LIMITED: its creator has too many | INTERNAL: the input has not the kind's shape */
  add<Input>(kind: TaskKind<Input>, task: NewTask<Input>): Promise<TaskRecord>;
  /** Queues several of one kind, in this order. @returns those that are new: one whose `id` is there already stays as it is */
  addAll<Input>(kind: TaskKind<Input>, tasks: readonly NewTask<Input>[]): Promise<readonly TaskRecord[]>;
  /** What people may look at and do. */
  readonly control: Pick<TaskControl, 'get' | 'list'>;
  /** Like TaskControl's, and tells whoever works on them. @returns errors by id for those that failed */
  apply(action: TaskAction, ids: readonly string[], list: string, scope: TaskScope): Promise<Map<string, unknown>>;
  clear(list: string, states: readonly number[], scope: TaskScope): Promise<void>;
  retryFailed(list: string, scope: TaskScope): Promise<void>;
  /** Runs again at once what was postponed: the first few of a kind, so that a long queue is not looked at as a whole. */
  hurry(kind: { readonly name: string }): Promise<void>;
  /** Makes the indexes and begins to work. */
  start(): Promise<void>;
  /** Claims no more and hands running tasks back, so that another worker goes on at once. Safe twice. */
  stop(): Promise<void>;
}

export interface TaskEngineOptions {
  readonly owner: TaskOwner;
  readonly store: StoreConnection;
  readonly bus: Bus;
  readonly logger: Logger;
  readonly metrics: Registry;
  readonly kinds: readonly TaskKind<never>[];
  /** How many tasks of a kind this replica works on at a time; asked before each round of claims. 5 by default. */
  readonly concurrencyOf?: (kind: string) => Promise<number>;
  /** How many tasks with this key this replica works on at a time; undefined: no limit. */
  readonly limitOfKey?: (key: string) => number | undefined;
  /** Tasks with one of these keys are left to other replicas for now. */
  readonly avoidedKeys?: () => readonly string[];
}

/** A durable queue over the store, and a worker on it. The bus only makes it quicker. */
export function createTaskEngine(options: TaskEngineOptions): TaskEngine {
  const { owner, store, bus, logger } = options;
  const models = taskModelsOf(store, owner);
  const clock = createStoreClock(store);
  const contact = createStoreContact();
  const queue = createTaskQueue(models, clock);
  const control = createTaskControl(models, clock);
  const openLimit = createOpenLimit(control.countOpen, () => performance.now());
  const passedOver = createPassedOver(() => performance.now());
  const metrics = createTaskMetrics(options.metrics, owner, models);
  const kinds = new Map(options.kinds.map((kind) => [kind.name, kind]));
  const housekeeping = createHousekeeping(models, clock, [...kinds.keys()]);
  if (kinds.size !== options.kinds.length) throw new Error('two kinds of tasks have the same name');
  const progressed = taskProgressed(owner);
  const wake = taskWake(owner);
  const worker = randomUUID();

  const runs = new Map<string, ActiveRun>();
  let cleanups = 0;
  let isStopped = false;
  let isPumping = false;
  let pumping: Promise<void> = Promise.resolve();
  let pumpAgain = false;
  let timers: NodeJS.Timeout[] = [];

  const announce = (record: TaskRecord) => {
    const { _id: id, list, creator_id: creatorId, state, progress } = record;
    bus.publish(progressed, { id, list, creatorId, state, progress });
  };
  const wakeAll = (ids: readonly string[]) => bus.publish(wake, { ids: [...ids], from: worker });

  const begin = (record: TaskRecord, isCleanup: boolean) => {
    const kind = kinds.get(record.kind);
    if (!kind) throw new Error(`there is no kind of task ${record.kind}`);
    announce(record);
    const run = startRun(
      { queue, kind, logger, onChange: announce, onAttempt: (result) => metrics.countAttempt(kind.name, result) },
      record,
    );
    // The same task may come back here under a higher fence before its old run has noticed.
    runs.set(`${record._id}:${record.fence}`, run);
    if (isCleanup) cleanups += 1;
    void run.ended.then(() => {
      runs.delete(`${record._id}:${record.fence}`);
      if (isCleanup) cleanups -= 1;
      if (!isStopped) pump();
    });
  };

  const isWorking = (run: ActiveRun) => run.record.state === TASK_STATE.running;

  const freeSlots = async (kind: string): Promise<number> => {
    const wanted = (await options.concurrencyOf?.(kind)) ?? DEFAULT_CONCURRENCY;
    const used = [...runs.values()].filter((run) => isWorking(run) && run.record.kind === kind).length;
    return Math.max(1, wanted) - used;
  };

  /** Of tasks that are not to be taken. */
  const closedKeys = (): string[] => {
    const { limitOfKey, avoidedKeys } = options;
    const used = new Map<string, number>();
    for (const run of runs.values()) if (isWorking(run)) for (const key of run.record.keys) used.set(key, (used.get(key) ?? 0) + 1);
    const full = [...used].filter(([key, count]) => count >= (limitOfKey?.(key) ?? Number.POSITIVE_INFINITY)).map(([key]) => key);
    return [...full, ...(avoidedKeys?.() ?? [])];
  };

  const claimOf = async (kind: string): Promise<TaskRecord | undefined> => {
    const closed = closedKeys();
    const start = passedOver.start(kind, closed);
    const asked = clock.now();
    const record = await queue.claim(kind, closed, worker, start.from);
    passedOver.note(kind, closed, start, record?.run_at, asked);
    return record;
  };

  const claimRound = async (): Promise<void> => {
    await clock.sync();
    while (cleanups < MAX_CLEANUPS && !isStopped) {
      const record = await queue.claimCleanup([...kinds.keys()], worker, contact.isSteady());
      // Claimed in the last moment: its lease runs out, and another worker puts it away.
      if (!record || isStopped) break;
      begin(record, true);
    }
    const open: string[] = [];
    for (const kind of kinds.keys()) if ((await freeSlots(kind)) > 0) open.push(kind);
    if (!(await queue.hasWork(open))) return;
    for (const kind of open)
      for (let free = await freeSlots(kind); free > 0 && !isStopped; free -= 1) {
        const record = await claimOf(kind);
        if (!record) break;
        if (isStopped) {
          await queue.handBack(record._id, record.fence);
          break;
        }
        metrics.observeClaim(kind, Math.max(0, clock.now().getTime() - record.run_at.getTime()));
        begin(record, false);
      }
  };

  /** Claims what there is; a call during a round makes another one. */
  const pump = () => {
    pumpAgain = true;
    if (isPumping || isStopped || kinds.size === 0) return;
    isPumping = true;
    const rounds = async () => {
      while (pumpAgain && !isStopped) {
        pumpAgain = false;
        await claimRound();
      }
    };
    pumping = rounds()
      .catch((error) => logger.warn({ err: error }, 'tasks could not be claimed'))
      .finally(() => {
        isPumping = false;
      });
  };

  const poll = async () => {
    const hasReaped = await contact.through(async () => {
      await clock.sync();
      return kinds.size > 0 && (await queue.reap(contact.isSteady()));
    });
    if (hasReaped) passedOver.forget();
    pump();
  };

  /** Runs again and again, never twice at a time. */
  const every = (intervalMs: number, what: string, work: () => Promise<void>) => {
    let isBusy = false;
    const timer = setInterval(() => {
      if (isBusy || isStopped) return;
      isBusy = true;
      within(SILENCE_MS, work(), 'the store does not answer')
        .catch((error) => logger.warn({ err: error }, what))
        .finally(() => {
          isBusy = false;
        });
    }, intervalMs);
    timers.push(timer);
  };

  const changed = (ids: readonly string[]) => {
    // Whoever works on them here need not wait for the bus.
    for (const run of runs.values()) if (ids.includes(run.record._id)) run.look();
    wakeAll(ids);
    pump();
  };

  /** @throws AppError RATE_LIMITED: a user has too many tasks that have not ended */
  const requireRoom = async (tasks: readonly Pick<NewTask<unknown>, 'creator'>[]): Promise<void> => {
    const added = new Map<number, number>();
    for (const { creator } of tasks) if (creator) added.set(creator.id, (added.get(creator.id) ?? 0) + 1);
    for (const [creatorId, count] of added) await openLimit.take(creatorId, count);
  };

  /** True when this replica may take one of them at once, as far as their keys go. */
  const mayTakeAny = (records: readonly TaskRecord[]): boolean => {
    const closed = new Set(closedKeys());
    return records.some(({ keys }) => !keys.some((key) => closed.has(key)));
  };

  const addAll: TaskEngine['addAll'] = async (kind, tasks) => {
    if (kinds.get(kind.name) !== (kind as unknown)) throw new Error(`this engine has no kind of task ${kind.name}`);
    await clock.sync();
    await requireRoom(tasks);
    const startMs = clock.now().getTime();
    // One millisecond apart, so that they are worked on and listed in their order.
    const records = tasks.map((task, index) => newRecord(kind, task, new Date(startMs + index), new Date(startMs)));
    const added = records.length > 0 ? await queue.insert(records) : [];
    for (const record of added) announce(record);
    wakeAll([]);
    // What waits behind a limit would be passed over one by one.
    if (mayTakeAny(added)) pump();
    return added;
  };

  return {
    addAll,
    async add(kind, task) {
      const [record] = await addAll(kind, [task]);
      if (!record) throw new Error('no task was made');
      return record;
    },
    control: { get: control.get, list: control.list },
    async apply(action, ids, list, scope) {
      const failed = new Map<string, unknown>();
      const touched: string[] = [];
      const one = async (id: string): Promise<void> => {
        try {
          const record = await control.apply(action, id, list, scope);
          if (!record) return;
          touched.push(id);
          announce(record);
        } catch (error) {
          failed.set(id, error);
        }
      };
      const open = [...new Set(ids)];
      while (open.length > 0) await Promise.all(open.splice(0, PARALLEL_CHANGES).map(one));
      if (touched.length > 0) changed(touched);
      if (action === 'cancel' && touched.length > 0) await waitUntilCanceled(control, touched);
      return failed;
    },
    async clear(list, states, scope) {
      await control.clear(list, states, scope);
      wakeAll([]);
    },
    async retryFailed(list, scope) {
      await control.retryFailed(list, scope);
      changed([]);
    },
    async hurry(kind) {
      await queue.hurry(kind.name, HURRIED_AT_A_TIME);
      changed([]);
    },
    async start() {
      await Promise.all([models.tasks.createIndexes(), models.chunks.createIndexes(), clock.sync()]);
      bus.subscribe(wake, ({ ids, from }) => {
        if (isStopped || from === worker) return;
        for (const run of runs.values()) if (ids.includes(run.record._id)) run.look();
        pump();
      });
      every(POLL_MS, 'the queue of tasks could not be read', poll);
      every(HOUSEKEEPING_MS, 'old tasks could not be removed', () => housekeeping.run());
      pump();
    },
    async stop() {
      if (isStopped) return;
      isStopped = true;
      for (const timer of timers) clearInterval(timer);
      timers = [];
      for (const run of runs.values()) run.stop('stopping');
      let limit: NodeJS.Timeout | undefined;
      const late = new Promise<void>((resolve) => {
        limit = setTimeout(resolve, STOP_LIMIT_MS);
      });
      const hadWork = runs.size > 0;
      const ended = async () => {
        // What the last round of claims still takes, it hands back.
        await pumping;
        await Promise.all([...runs.values()].map((run) => run.ended));
      };
      await Promise.race([ended(), late]);
      clearTimeout(limit);
      // A run that does not end is left behind its fence: what it still writes is refused.
      const left = [...runs.values()].map(({ record }) => queue.handBack(record._id, record.fence));
      for (const result of await Promise.allSettled(left))
        if (result.status === 'rejected') logger.warn({ err: result.reason }, 'a task could not be handed back; its lease runs out');
      if (hadWork) wakeAll([]);
    },
  };
}

function newRecord<Input>(kind: TaskKind<Input>, task: NewTask<Input>, at: Date, now: Date): TaskRecord {
  const { creator } = task;
  return {
    _id: task.id ?? newTaskId(),
    kind: kind.name,
    list: kind.list,
    name: task.name,
    creator_id: creator?.id ?? 0,
    creator: creator?.name ?? '',
    creator_role: creator?.role ?? -1,
    keys: [...(task.keys ?? [])],
    run_at: now,
    waiting: true,
    done: false,
    paused: false,
    forget: false,
    state: TASK_STATE.pending,
    status: task.status ?? '',
    phase: '',
    progress: 0,
    done_bytes: 0,
    total_bytes: task.totalBytes ?? 0,
    speed: 0,
    eta: null,
    error: '',
    failures: 0,
    losses: 0,
    fence: 0,
    worker: '',
    lease_until: new Date(0),
    has_cleanup: kind.hasCleanup,
    input: kind.encodeInput(task.input),
    checkpoint: '',
    created_at: at,
    start_time: null,
    end_time: null,
    updated_at: now,
    revision: 1,
  };
}

/** How long an answer to a cancel waits for the task to have ended, in milliseconds: callers look at it next. */
const CANCEL_WAIT_MS = 1_000;
const CANCEL_LOOK_MS = 50;

async function waitUntilCanceled(control: TaskControl, ids: readonly string[]): Promise<void> {
  const untilMs = performance.now() + CANCEL_WAIT_MS;
  while (performance.now() < untilMs && (await control.anyCanceling(ids)))
    await new Promise((resolve) => setTimeout(resolve, CANCEL_LOOK_MS));
}
