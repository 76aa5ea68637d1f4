import { setTimeout as delay } from 'node:timers/promises';
import { makeIndexes, type TaskOwner, type TaskRecord, taskModelsOf } from '@wharf/models';
import { createFairPlaces } from '@wharf/pace';
import { type Bus, createStoreRoom, type Logger, NO_TRACING, type StoreConnection, type Tracing } from '@wharf/service-kit';
import type { Registry } from 'prom-client';
import { createHousekeeping } from './housekeeping.ts';
import { type NewTask, newTaskRecords } from './new-task.ts';
import { type MayStill, nowAndThen } from './now-and-then.ts';
import { createOpenLimit } from './open-limit.ts';
import { longBytes, type RecordRoom } from './record-room.ts';
import { createStoreClock } from './store-clock.ts';
import { createTaskControl, type TaskAction, type TaskControl, type TaskScope } from './task-control.ts';
import type { TaskKind } from './task-kind.ts';
import { createTaskMetrics } from './task-metrics.ts';
import { createTaskQueue } from './task-queue.ts';
import { createTaskWorker } from './task-worker.ts';
import type { WorkLimits } from './worker-runs.ts';

/** Postponed tasks that are looked at again when something may have changed for them; the others have their time. */
const HURRIED_AT_A_TIME = 16;
/**
 * Tasks of one owner that have not ended take this share of a store that is bounded. Its rest is for those of the other owner, for what has ended,
 * and for logins, the audit trail and uploads: without room for these nobody can do anything.
 */
const STORE_SHARE = 0.15;
/** Tasks of one call that are changed at a time. */
const PARALLEL_CHANGES = 16;
/** Requests that change more at a time, one of each user: the store is asked for each task, and answers others meanwhile. */
const LONG_CHANGES = 2;

export interface TaskEngine {
  /**
   * Queues a task durably.
   * @throws AppError RATE_LIMITED: its creator has too many, or all have | INTERNAL: the input has not the kind's shape; and what `holdRoom` throws
   */
  add<Input>(kind: TaskKind<Input>, task: NewTask<Input>): Promise<TaskRecord>;
  /** Queues several of one kind, in this order. @returns those that are new: one whose `id` is there already stays as it is */
  addAll<Input>(kind: TaskKind<Input>, tasks: readonly NewTask<Input>[]): Promise<readonly TaskRecord[]>;
  /** The same for several kinds: there is room for all of them, or none is queued. */
  addTogether<Input>(batches: readonly TaskBatch<Input>[]): Promise<readonly TaskRecord[]>;
  /** What people may look at and do. */
  readonly control: Pick<TaskControl, 'get' | 'list'>;
  /**
   * Like TaskControl's, and tells whoever works on them. Many of one user have their turn one after the other.
   *
   * @param signal aborted: those that are left stay as they are. @returns errors by id for those that failed
   */
  apply(action: TaskAction, ids: readonly string[], list: string, scope: TaskScope, signal?: AbortSignal): Promise<Map<string, unknown>>;
  clear(list: string, states: readonly number[], scope: TaskScope): Promise<void>;
  retryFailed(list: string, scope: TaskScope): Promise<void>;
  /** Runs again at once what was postponed: the first few of a kind, so that a long queue is not looked at as a whole. */
  hurry(kind: { readonly name: string }): Promise<void>;
  /** Makes the indexes and begins to work. */
  start(): Promise<void>;
  /** Claims no more and hands running tasks back, so that another worker goes on at once. Safe twice. */
  stop(): Promise<void>;
}

/** Tasks of one kind. */
export interface TaskBatch<Input> {
  readonly kind: TaskKind<Input>;
  readonly tasks: readonly NewTask<Input>[];
}

export interface TaskEngineOptions extends WorkLimits {
  readonly owner: TaskOwner;
  readonly store: StoreConnection;
  readonly bus: Bus;
  readonly logger: Logger;
  readonly metrics: Registry;
  /** Left out: there are no traces. */
  readonly tracing?: Tracing;
  readonly kinds: readonly TaskKind<never>[];
  /** Tasks of all users together that have not ended; infinite: any number. Left out: what the store has room for. */
  readonly tasksOfAll?: number | undefined;
  /** As `RecordRoom` has it. Left out: the store has room for all. */
  readonly holdRoom?: RecordRoom | undefined;
}

/** A durable queue over the store, and a worker on it. The bus only makes it quicker. */
export function createTaskEngine(options: TaskEngineOptions): TaskEngine {
  const { tracing = NO_TRACING } = options;
  const models = taskModelsOf(options.store, options.owner);
  const clock = createStoreClock(options.store);
  const queue = createTaskQueue(models, clock);
  const room = createStoreRoom(options.store, STORE_SHARE);
  const control = createTaskControl(models, clock, (creatorId, count) =>
    openLimit.take(Array.from({ length: count }, () => ({ creator: creatorId === 0 ? undefined : { id: creatorId } }))),
  );
  const openLimit = createOpenLimit({
    countOpen: control.countOpen,
    countAll: () => models.tasks.estimatedDocumentCount().exec(),
    mostOfAll: async () => options.tasksOfAll ?? room(),
    nowMs: () => performance.now(),
  });
  const kinds = new Map(options.kinds.map((kind) => [kind.name, kind]));
  if (kinds.size !== options.kinds.length) throw new Error('two kinds of tasks have the same name');
  const housekeeping = createHousekeeping(models, clock, [...kinds.keys()]);
  const metrics = createTaskMetrics(options.metrics, options.owner, models, clock);
  const inTurn = createFairPlaces(LONG_CHANGES);
  const worker = createTaskWorker({ ...options, tracing, kinds, queue, clock, metrics, housekeeping });

  const addTogether: TaskEngine['addTogether'] = async (batches) => {
    for (const { kind } of batches)
      if (kinds.get(kind.name) !== (kind as unknown)) throw new Error(`this engine has no kind of task ${kind.name}`);
    await clock.sync();
    const settle = await openLimit.take(batches.flatMap(({ tasks }) => tasks));
    const added: TaskRecord[] = [];
    let letGo = () => {};
    try {
      let bytes = 0;
      if (options.holdRoom) for (const { kind, tasks } of batches) bytes += await longBytes(kind, tasks);
      if (options.holdRoom && bytes > 0) letGo = await options.holdRoom(bytes);
      for (const { kind, tasks } of batches)
        for (const records of newTaskRecords(kind, tasks, clock.now(), tracing.traceparent())) added.push(...(await queue.insert(records)));
    } finally {
      letGo();
      settle();
    }
    worker.added(added);
    return added;
  };

  const addAll: TaskEngine['addAll'] = (kind, tasks) => addTogether([{ kind, tasks }]);

  return {
    addAll,
    addTogether,
    async add(kind, task) {
      const [record] = await addAll(kind, [task]);
      if (!record) throw new Error('no task was made');
      return record;
    },
    control: { get: control.get, list: control.list },
    async apply(action, ids, list, scope, signal) {
      const applied = (mayStill?: MayStill) => applyToAll(control, action, ids, list, { ...scope, mayStill }, worker.announce, signal);
      const { touched, failed } = await (ids.length > PARALLEL_CHANGES
        ? inTurn(`${scope.creatorId}`, () => applied(nowAndThen(scope.mayStill)), signal)
        : applied());
      if (touched.length > 0) worker.changed(touched);
      if (action === 'cancel' && touched.length > 0) await waitUntilCanceled(control, touched);
      return failed;
    },
    async clear(list, states, scope) {
      await control.clear(list, states, scope);
      worker.wakeOthers([]);
    },
    async retryFailed(list, scope) {
      await control.retryFailed(list, scope).finally(() => worker.changed([]));
    },
    async hurry(kind) {
      await queue.hurry(kind.name, HURRIED_AT_A_TIME);
      worker.changed([]);
    },
    async start() {
      await Promise.all([makeIndexes(models.tasks), makeIndexes(models.chunks), clock.sync()]);
      worker.start();
    },
    stop: worker.stop,
  };
}

/** A few at a time. @returns the ids of those that changed, and errors by id */
async function applyToAll(
  control: TaskControl,
  action: TaskAction,
  ids: readonly string[],
  list: string,
  scope: TaskScope,
  onChange: (record: TaskRecord) => void,
  signal: AbortSignal | undefined,
): Promise<{ touched: readonly string[]; failed: Map<string, unknown> }> {
  const failed = new Map<string, unknown>();
  const touched: string[] = [];
  const one = async (id: string): Promise<void> => {
    try {
      await scope.mayStill?.();
      const record = await control.apply(action, id, list, scope);
      if (!record) return;
      touched.push(id);
      onChange(record);
    } catch (error) {
      failed.set(id, error);
    }
  };
  const open = [...new Set(ids)];
  while (open.length > 0 && !signal?.aborted) await Promise.all(open.splice(0, PARALLEL_CHANGES).map(one));
  return { touched, failed };
}

/** How long an answer to a cancel waits for the task to have ended, in milliseconds: callers look at it next. */
const CANCEL_WAIT_MS = 1_000;
const CANCEL_LOOK_MS = 50;
/** Of thousands that are cancelled together, in one look: the store does nothing else meanwhile. */
const CANCEL_LOOKS = 50;

async function waitUntilCanceled(control: TaskControl, ids: readonly string[]): Promise<void> {
  const untilMs = performance.now() + CANCEL_WAIT_MS;
  for (let ended = 0; ended < ids.length && performance.now() < untilMs; )
    if (await control.anyCanceling(ids.slice(ended, ended + CANCEL_LOOKS))) await delay(CANCEL_LOOK_MS);
    else ended += CANCEL_LOOKS;
}
