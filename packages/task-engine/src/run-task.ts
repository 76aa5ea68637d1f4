import { AppError, ERROR_CODES } from '@wharf/errors';
import type { TaskRecord } from '@wharf/models';
import { type Logger, within } from '@wharf/service-kit';
import { postponedMs } from './postponed.ts';
import { createProgressMeter } from './progress-meter.ts';
import type { RawRun, TaskKind, TaskOutcome } from './task-kind.ts';
import type { TaskQueue } from './task-queue.ts';
import { HELD_STATES, TASK_STATE } from './task-state.ts';

/** How often a running task is looked after: progress is written at most this often, in milliseconds. */
const TICK_MS = 1_000;
/** A task without news renews its lease this often, in milliseconds. */
const HEARTBEAT_MS = 2_000;
/** A worker that cannot reach the store for so long gives its task up, in milliseconds. */
const GIVE_UP_MS = 30_000;
const FIRST_BACKOFF_MS = 1_000;
const MAX_BACKOFF_MS = 60_000;

/** Why a run was told to end. */
export type StopReason = 'canceled' | 'paused' | 'stopping' | 'lost';

export interface ActiveRun {
  readonly record: TaskRecord;
  /** Reads at once what was asked of the task, and renews its lease. */
  look(): void;
  stop(reason: StopReason): void;
  /** Resolves when the task is no longer held here; never rejects. */
  readonly ended: Promise<void>;
}

/** What a run needs of the engine. */
export interface RunContext {
  readonly queue: TaskQueue;
  readonly kind: TaskKind<never>;
  readonly logger: Logger;
  /** Something about the task changed in the store. */
  readonly onChange: (record: TaskRecord) => void;
  /** An attempt is over. */
  readonly onAttempt: (result: 'succeeded' | 'failed' | 'retried' | 'postponed' | StopReason) => void;
}

/** Works on a claimed task until it has ended, waits again or was lost. */
export function startRun(context: RunContext, record: TaskRecord): ActiveRun {
  const { queue, kind } = context;
  const { _id: id, fence } = record;
  const logger = context.logger.child({ task: id, kind: kind.name });
  const meter = createProgressMeter(record);
  const work = new AbortController();
  const cleanup = new AbortController();
  let isCleaning = record.state !== TASK_STATE.running;
  let reason: StopReason | undefined;
  let renewedAtMs = performance.now();
  let areChunksFenced = fence === 1;
  let writing: Promise<unknown> = Promise.resolve();
  let unwritten = 0;

  const stop = (why: StopReason) => {
    // A loss outranks whatever was asked before.
    if (reason !== undefined && why !== 'lost') return;
    reason = why;
    const error = new AppError('CANCELLED', STOPPED[why], { details: { reason: why } });
    work.abort(error);
    if (why === 'lost' || why === 'stopping') cleanup.abort(error);
  };

  /** One write after the other, each with what the meter has to tell. @throws AppError CANCELLED: the task is not held any more */
  const write = (patch: Partial<TaskRecord>): Promise<void> => {
    unwritten += 1;
    const next = writing.then(async () => {
      if (reason === 'lost') throw new AppError('CANCELLED', STOPPED.lost);
      const startedAtMs = performance.now();
      const stored = await within(GIVE_UP_MS, queue.write(id, fence, HELD_STATES, { ...meter.take(), ...patch }), STOPPED.lost);
      if (!stored) {
        stop('lost');
        throw new AppError('CANCELLED', STOPPED.lost);
      }
      renewedAtMs = startedAtMs;
      if (!isCleaning && stored.state === TASK_STATE.canceling) stop('canceled');
      else if (!isCleaning && stored.paused) stop('paused');
      context.onChange(stored);
    });
    writing = next
      .catch(() => {})
      .finally(() => {
        unwritten -= 1;
      });
    return next;
  };

  const look = () => {
    write({}).catch((error) => {
      if (reason !== 'lost') logger.warn({ err: error }, 'the lease could not be renewed');
    });
  };
  const timer = setInterval(() => {
    const silentMs = performance.now() - renewedAtMs;
    if (silentMs > GIVE_UP_MS) stop('lost');
    // While the store is away one write waits for it, not one more each second.
    else if (unwritten === 0 && (meter.hasNews() || silentMs >= HEARTBEAT_MS)) look();
  }, TICK_MS);

  /** What the attempt saved last is what its cleanup begins from. */
  let checkpoint = record.checkpoint;

  const fenceChunks = async () => {
    if (areChunksFenced) return;
    await queue.fenceChunks(id, fence);
    areChunksFenced = true;
  };
  const raw = (signal: AbortSignal): RawRun => ({
    id,
    name: record.name,
    creator: record.creator_id === 0 ? undefined : { id: record.creator_id, name: record.creator, role: record.creator_role },
    fence,
    signal,
    logger,
    input: record.input,
    checkpoint,
    async saveCheckpoint(text) {
      await write({ checkpoint: text, losses: 0 });
      checkpoint = text;
    },
    progress: (progress) => meter.note(progress),
    async assertLease() {
      signal.throwIfAborted();
      await write({});
      signal.throwIfAborted();
    },
    async readChunk(index) {
      await fenceChunks();
      return queue.readChunk(id, index);
    },
    async writeChunk(index, text) {
      if (reason === 'lost') throw new AppError('CANCELLED', STOPPED.lost);
      await fenceChunks();
      if (await queue.writeChunk(id, fence, index, text)) return;
      stop('lost');
      throw new AppError('CANCELLED', STOPPED.lost);
    },
    async clearChunks() {
      await write({});
      await queue.removeChunks([id]);
    },
  });

  /** Puts the task away after a cancel or a failure. */
  const end = async (outcome: TaskOutcome): Promise<void> => {
    isCleaning = true;
    const state = outcome === 'canceled' ? TASK_STATE.canceled : TASK_STATE.failed;
    try {
      await kind.end(outcome, raw(cleanup.signal));
    } catch (error) {
      // Somebody else holds it, or will: its lease runs out.
      if (cleanup.signal.aborted) return;
      logger.error({ err: error }, 'a task could not be put away');
      if (await queue.postponeCleanup(record)) return;
    }
    await writing;
    const ended = await queue.finish(id, fence, [TASK_STATE.canceling, TASK_STATE.failing], { ...meter.take(), state });
    if (ended) context.onChange(ended);
  };

  const succeed = async (): Promise<void> => {
    const ended = await queue.finish(id, fence, [TASK_STATE.running, TASK_STATE.canceling], {
      ...meter.finished(),
      state: TASK_STATE.succeeded,
      error: '',
    });
    if (!ended) return context.onAttempt('lost');
    if (kind.hasChunks) await queue.removeChunks([id]);
    context.onAttempt('succeeded');
    context.onChange(ended);
  };

  const fail = async (error: unknown): Promise<void> => {
    const known = AppError.from(error);
    if (known.code === 'INTERNAL') logger.error({ err: error }, 'task');
    else logger.info({ err: error }, 'task');
    const failures = record.failures + 1;
    const mayHelp = !AppError.is(error) || ERROR_CODES[known.code].retry !== 'never' || known.code === 'INTERNAL';
    if (failures <= kind.maxRetries && mayHelp) {
      const waits = await queue.waitForRetry(id, fence, backoffMs(failures), { ...meter.take(), error: known.message, failures });
      if (!waits) return finishCanceled();
      context.onAttempt('retried');
      return context.onChange(waits);
    }
    const failing = await queue.write(id, fence, [TASK_STATE.running], {
      ...meter.take(),
      state: TASK_STATE.failing,
      error: known.message,
      failures,
      losses: 0,
    });
    if (!failing) return finishCanceled();
    context.onAttempt('failed');
    await end('failed');
  };

  /** The task is not running any more although this run was not told: it is being cancelled, or another worker has it. */
  const finishCanceled = async (): Promise<void> => {
    const stored = await queue.write(id, fence, [TASK_STATE.canceling], meter.take());
    if (!stored) return context.onAttempt('lost');
    context.onAttempt('canceled');
    await end('canceled');
  };

  const attempt = async (): Promise<void> => {
    if (record.state === TASK_STATE.canceling) return end('canceled');
    if (record.state === TASK_STATE.failing) return end('failed');
    let failure: { error: unknown } | undefined;
    try {
      await kind.run(raw(work.signal));
    } catch (error) {
      failure = { error };
    }
    await writing;
    if (!failure) return succeed();
    const delayMs = postponedMs(failure.error);
    if (reason === undefined && delayMs === undefined) return fail(failure.error);
    if (reason === 'lost') return context.onAttempt('lost');
    if (reason === 'canceled') return finishCanceled();
    const waits = await (reason === undefined
      ? queue.handBack(id, fence, delayMs, { ...meter.take(), status: AppError.from(failure.error).message, phase: 'waiting' })
      : queue.handBack(id, fence));
    if (!waits) return finishCanceled();
    context.onAttempt(reason ?? 'postponed');
    context.onChange(waits);
  };

  const ended = attempt()
    .catch((error) => logger.warn({ err: error }, 'a task could not be brought to its end here; its lease runs out'))
    .finally(() => clearInterval(timer));
  return { record, look, stop, ended };
}

const STOPPED: Readonly<Record<StopReason, string>> = {
  canceled: 'the task was cancelled',
  paused: 'the task was paused',
  stopping: 'this worker stops',
  lost: 'another worker has this task',
};

const backoffMs = (failures: number) => Math.min(MAX_BACKOFF_MS, FIRST_BACKOFF_MS * 2 ** (failures - 1));
