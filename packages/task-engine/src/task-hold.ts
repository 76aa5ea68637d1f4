import { AppError } from '@wharf/errors';
import type { TaskRecord } from '@wharf/models';
import { type Logger, within } from '@wharf/service-kit';
import { createProgressMeter, type ProgressMeter } from './progress-meter.ts';
import { LEASE_MS } from './task-lease.ts';
import type { TaskQueue } from './task-queue.ts';
import { HELD_STATES, TASK_STATE } from './task-state.ts';

/** How often a running task is looked after: progress is written at most this often, in milliseconds. */
const TICK_MS = 1_000;
/** A task without news renews its lease this often, in milliseconds. */
const HEARTBEAT_MS = 2_000;
/** A lease that was given or renewed so lately is held, in milliseconds: it lasts six times as long. */
const ASSERTED_MS = 1_000;
/** For so long after it was asked for a lease is surely held, in milliseconds: half of what it lasts, for whatever a clock or a thread is behind. */
const SURELY_HELD_MS = LEASE_MS / 2;
/** A worker that cannot reach the store for so long gives its task up, in milliseconds. */
const GIVE_UP_MS = 30_000;

/** Why a run was told to end. */
export type StopReason = 'canceled' | 'paused' | 'stopping' | 'passed on' | 'lost';

const STOPPED: Readonly<Record<StopReason, string>> = {
  canceled: 'the task was cancelled',
  paused: 'the task was paused',
  stopping: 'this worker stops',
  'passed on': 'this worker has no place for the task',
  lost: 'another worker has this task',
};

/** What a worker has of a task that it claimed: the lease, and the one line of writes under its fence. */
export interface TaskHold {
  readonly record: TaskRecord;
  readonly meter: ProgressMeter;
  /** Aborted by each reason to stop. */
  readonly work: AbortSignal;
  /** Aborted when the task is lost or this worker stops: a cleanup goes on after a cancel. */
  readonly cleanup: AbortSignal;
  /** Undefined: nobody told the run to end. */
  reason(): StopReason | undefined;
  stop(reason: StopReason): void;
  /** Reads at once whether a cancel or a pause was asked for, and renews the lease. */
  look(): void;
  /** One write after the other, each with what the meter has to tell. @throws AppError CANCELLED: the task is not held any more */
  write(patch: Partial<TaskRecord>): Promise<void>;
  /**
   * Nobody else can hold the task: the store said so a moment ago, or says so now.
   * @returns until when that is sure, by `performance.now()`. @throws AppError CANCELLED: the task is not held any more
   */
  assert(): Promise<number>;
  /** Resolves when the writes so far are over, done or refused; never rejects. */
  settled(): Promise<unknown>;
  /** The store has refused a write: another worker has the task. @throws AppError CANCELLED, always */
  lose(): never;
  /** From here on a cancel or a pause changes nothing. */
  beginCleanup(): void;
  /** Renews the lease no more. */
  release(): void;
}

/** Holds a claimed task until `release()`. @param onStored told what the store has of the task, after each write */
export function holdTask(queue: TaskQueue, record: TaskRecord, logger: Logger, onStored: (record: TaskRecord) => void): TaskHold {
  const { _id: id, fence } = record;
  const meter = createProgressMeter(record);
  const work = new AbortController();
  const cleanup = new AbortController();
  let isCleaning = record.state !== TASK_STATE.running;
  let reason: StopReason | undefined;
  let renewedAtMs = performance.now() - queue.askedAgoMs(record);
  let writing: Promise<unknown> = Promise.resolve();
  let unwritten = 0;
  let asserting: Promise<void> | undefined;

  const stop = (why: StopReason) => {
    // A loss outranks whatever was asked before.
    if (reason !== undefined && why !== 'lost') return;
    reason = why;
    const error = new AppError('CANCELLED', STOPPED[why], { details: { reason: why } });
    work.abort(error);
    if (why === 'lost' || why === 'stopping') cleanup.abort(error);
  };
  const lose = (): never => {
    stop('lost');
    throw new AppError('CANCELLED', STOPPED.lost);
  };

  const write = (patch: Partial<TaskRecord>): Promise<void> => {
    unwritten += 1;
    const next = writing.then(async () => {
      if (reason === 'lost') lose();
      const startedAtMs = performance.now();
      const stored = await within(GIVE_UP_MS, queue.write(id, fence, HELD_STATES, { ...meter.take(), ...patch }), STOPPED.lost);
      if (!stored) return lose();
      renewedAtMs = startedAtMs;
      if (!isCleaning && stored.state === TASK_STATE.canceling) stop('canceled');
      else if (!isCleaning && stored.paused) stop('paused');
      onStored(stored);
    });
    writing = next
      .catch(() => {})
      .finally(() => {
        unwritten -= 1;
      });
    return next;
  };

  let isLookDue = false;
  const look = () => {
    // One that has not begun reads all that was asked for by then.
    if (isLookDue) return;
    isLookDue = true;
    void writing.then(() => (isLookDue = false));
    write({}).catch((error) => {
      if (reason !== 'lost') logger.warn({ err: error }, 'the lease could not be renewed');
    });
  };
  const timer = setInterval(() => {
    const silentMs = performance.now() - renewedAtMs;
    if (silentMs > GIVE_UP_MS) stop('lost');
    // While the store is away only one write waits for it. The timer adds no further ones.
    else if (unwritten === 0 && (meter.hasNews() || silentMs >= HEARTBEAT_MS)) look();
  }, TICK_MS);

  return {
    record,
    meter,
    work: work.signal,
    cleanup: cleanup.signal,
    reason: () => reason,
    stop,
    look,
    write,
    async assert() {
      if (reason === 'lost') lose();
      if (performance.now() - renewedAtMs >= ASSERTED_MS) {
        asserting ??= write({}).finally(() => (asserting = undefined));
        await asserting;
      }
      return renewedAtMs + SURELY_HELD_MS;
    },
    settled: () => writing,
    lose,
    beginCleanup() {
      isCleaning = true;
    },
    release: () => clearInterval(timer),
  };
}
