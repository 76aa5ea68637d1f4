import { setTimeout as delay } from 'node:timers/promises';
import { AppError, ERROR_CODES } from '@wharf/errors';
import type { TaskRecord } from '@wharf/models';
import { forOwner, unlessAborted } from '@wharf/pace';
import { foreseen, inSpan, type Logger, type OpenSpan, type Tracing } from '@wharf/service-kit';
import { type HeldTasks, MAX_CLEANUPS } from './held-tasks.ts';
import type { Place } from './places.ts';
import { backoffMs, postponedMs } from './postponed.ts';
import { createRawRuns, type RawRuns } from './raw-run.ts';
import { holdTask, type StopReason, type TaskHold } from './task-hold.ts';
import type { TaskKind, TaskOutcome } from './task-kind.ts';
import type { TaskQueue } from './task-queue.ts';
import { TASK_STATE } from './task-state.ts';

/** How long a task waits after its run lost the store, in milliseconds. */
const OUTAGE_PAUSE_MS = 1_000;
/** While the store is away, how a run has ended is written again after so long, in milliseconds... */
const REWRITE_MS = 250;
/** ... for so long. Then the lease runs out and the task is run again. */
const REWRITE_FOR_MS = 30_000;

export interface ActiveRun {
  readonly record: TaskRecord;
  /** Reads at once whether a cancel or a pause was asked for, and renews the lease. */
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
  readonly tracing: Tracing;
  /** Undefined: it is not waited for. */
  readonly place?: Place | undefined;
  /** Something about the task changed in the store. */
  readonly onChange: (record: TaskRecord) => void;
  /** The same, with all that the store has of it. */
  readonly onStored: (record: TaskRecord) => void;
  /** An attempt is over. */
  readonly onAttempt: (result: 'succeeded' | 'failed' | 'retried' | 'postponed' | StopReason) => void;
  /** With what, for those that failed. */
  readonly onFailure?: (error: unknown) => void;
}

/** Works on a claimed task until it has ended, waits again or was lost. */
export function startRun(context: RunContext, record: TaskRecord): ActiveRun {
  const logger = context.logger.child({ task: record._id, kind: context.kind.name });
  const hold = holdTask(context.queue, record, logger, context.onStored);
  const run = { ...context, logger, hold, raw: createRawRuns(context.queue, hold, logger), ending: endingWrites(context.queue, hold) };
  const ended = inSpan(context.tracing, `task ${context.kind.name}`, spanOf(record), (span) => attempt(withSpan(run, span)))
    .catch((error) => logger.warn({ err: error }, 'a task could not be brought to its end here; its lease runs out'))
    .finally(() => {
      hold.release();
      context.place?.leave();
    });
  return { record, look: hold.look, stop: hold.stop, ended };
}

interface Run extends RunContext {
  readonly hold: TaskHold;
  readonly raw: RawRuns;
  readonly ending: EndingWrites;
}

type EndingWrites = Pick<HeldTasks, 'write' | 'finish' | 'handBack' | 'passOn' | 'waitForRetry'>;

/**
 * Writes of what became of a run. Each is repeated while the store is away: what the run did is done, and would be done again by whoever takes
 * the task over. Nobody does while the store is away, and for a lease after it.
 */
function endingWrites({ write, finish, handBack, passOn, waitForRetry }: TaskQueue, { cleanup: given }: TaskHold): EndingWrites {
  const repeated =
    <Args extends unknown[], Answer>(ask: (...args: Args) => Promise<Answer>) =>
    async (...args: Args): Promise<Answer> => {
      for (const untilMs = performance.now() + REWRITE_FOR_MS; ; await delay(REWRITE_MS))
        try {
          return await ask(...args);
        } catch (error) {
          if (!isOfStore(error) || given.aborted || performance.now() > untilMs) throw error;
        }
    };
  return {
    write: repeated(write),
    finish: repeated(finish),
    handBack: repeated(handBack),
    passOn: repeated(passOn),
    waitForRetry: repeated(waitForRetry),
  };
}

/** Each attempt is a part of the trace in which the task was queued. */
function spanOf({ _id, trace = '', fence }: TaskRecord) {
  return { kind: 'consumer', parent: trace, facts: { 'wharf.task': _id, 'wharf.task.fence': fence } } as const;
}

function withSpan(run: Run, span: OpenSpan | undefined): Run {
  if (!span) return run;
  return {
    ...run,
    onAttempt(result) {
      span.tell({ 'wharf.task.result': result });
      run.onAttempt(result);
    },
    onFailure: (error) => span.fail(error),
  };
}

async function attempt(run: Run): Promise<void> {
  const { ending, kind, hold, place } = run;
  const { _id: id, fence, state } = hold.record;
  if (state === TASK_STATE.canceling) return putAway(run, 'canceled');
  if (state === TASK_STATE.failing) return putAway(run, 'failed');
  let failure: { error: unknown } | undefined;
  let hasBegun = false;
  try {
    if (place) await unlessAborted(hold.work, place.free);
    hasBegun = true;
    // Apart from what its user waits for.
    await forOwner(`tasks of ${hold.record.creator_id}`, () => kind.run(run.raw.begin(hold.work)));
  } catch (error) {
    failure = { error };
  }
  if (!failure || !hasBegun) place?.leave();
  await hold.settled();
  if (!failure) return succeed(run);
  const reason = hold.reason();
  const delayMs = postponedMs(failure.error) ?? (isOfStore(failure.error) ? OUTAGE_PAUSE_MS : undefined);
  if (reason === undefined && delayMs === undefined) return fail(run, failure.error);
  if (reason === 'lost') return run.onAttempt('lost');
  if (reason === 'canceled') return finishCanceled(run);
  const waits = await (reason === undefined
    ? ending.handBack(id, fence, delayMs, { ...hold.meter.take(), status: AppError.from(failure.error).message, phase: 'waiting' })
    : hasBegun
      ? ending.handBack(id, fence)
      : ending.passOn(hold.record));
  if (!waits) return finishCanceled(run);
  if (hasBegun) run.onAttempt(reason ?? 'postponed');
  run.onChange(waits);
}

/** The store was away: no fault of the task, which counts no failure. */
const isOfStore = (error: unknown) => foreseen(error) !== error;

async function succeed({ queue, ending, kind, hold, raw, onAttempt, onChange }: Run): Promise<void> {
  const { _id: id, fence } = hold.record;
  const done = { ...hold.meter.finished(), state: TASK_STATE.succeeded, error: '', error_code: '' };
  const isEnded = await ending.finish(id, fence, [TASK_STATE.running, TASK_STATE.canceling], done);
  if (!isEnded) return onAttempt('lost');
  if (kind.hasChunks && raw.mayHaveChunks()) await queue.removeChunks([id], fence);
  onAttempt('succeeded');
  onChange({ ...hold.record, ...done });
}

async function fail(run: Run, error: unknown): Promise<void> {
  const { ending, kind, hold, logger } = run;
  run.onFailure?.(error);
  const { _id: id, fence } = hold.record;
  const known = AppError.from(error);
  if (known.code === 'INTERNAL') logger.error({ err: error }, 'task');
  else logger.info({ err: error }, 'task');
  const failures = hold.record.failures + 1;
  const mayHelp = !AppError.is(error) || ERROR_CODES[known.code].retry !== 'never' || known.code === 'INTERNAL';
  const told = { ...hold.meter.take(), error: known.message, error_code: known.code, failures };
  if (failures <= kind.maxRetries && mayHelp) {
    const waits = await ending.waitForRetry(id, fence, backoffMs(failures), told);
    if (!waits) return finishCanceled(run);
    run.onAttempt('retried');
    return run.onChange(waits);
  }
  const failing = await ending.write(id, fence, [TASK_STATE.running, TASK_STATE.failing], {
    ...told,
    state: TASK_STATE.failing,
    losses: 0,
  });
  if (!failing) return finishCanceled(run);
  run.onAttempt('failed');
  await putAway(run, 'failed');
}

/** The task is not running any more although this run was not told: it is being cancelled, or another worker has it. */
async function finishCanceled(run: Run): Promise<void> {
  const { _id: id, fence } = run.hold.record;
  const stored = await run.ending.write(id, fence, [TASK_STATE.canceling], run.hold.meter.take());
  if (!stored) return run.onAttempt('lost');
  run.onAttempt('canceled');
  await putAway(run, 'canceled');
}

/** After a cancel or a failure. */
async function putAway({ queue, ending, kind, hold, raw, logger, onChange }: Run, outcome: TaskOutcome): Promise<void> {
  const { _id: id, fence } = hold.record;
  hold.beginCleanup();
  try {
    // Workers were lost over it again and again: what it left stays.
    if (hold.record.losses < MAX_CLEANUPS) await kind.end(outcome, raw.begin(hold.cleanup));
  } catch (error) {
    // Another worker holds the task, or will when the lease has run out.
    if (hold.cleanup.aborted) return;
    logger.error({ err: error }, 'a task could not be put away');
    if (await queue.postponeCleanup(hold.record)) return;
  }
  await hold.settled();
  const done = { ...hold.meter.take(), state: outcome === 'canceled' ? TASK_STATE.canceled : TASK_STATE.failed };
  const isEnded = await ending.finish(id, fence, [TASK_STATE.canceling, TASK_STATE.failing], done);
  if (isEnded) onChange({ ...hold.record, ...done });
}
