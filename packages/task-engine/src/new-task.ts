import type { TaskRecord } from '@wharf/models';
import { newTaskId } from './task-id.ts';
import type { TaskCreator, TaskKind } from './task-kind.ts';
import { TASK_STATE } from './task-state.ts';

export interface NewTask<Input> {
  /** For a task that another task makes, and may make again after a takeover: the id from {@link derivedTaskId}. Undefined: a new id. */
  readonly id?: string;
  /** Clients parse it: docs/api-family.md#task-names. */
  readonly name: string;
  /** Undefined: nobody's. */
  readonly creator: TaskCreator | undefined;
  readonly input: Input;
  /** 0 or undefined: not known yet. */
  readonly totalBytes?: number;
  /** Keys of limits that it shares with other tasks, for example `tool:SimpleHttp`. */
  readonly keys?: readonly string[];
  readonly status?: string;
}

/** Records that are made and written between two turns of others: a few milliseconds. */
const RECORDS_PER_PIECE = 100;

/** The records of tasks that are added in one call, in pieces, one millisecond apart, so that they are worked on and listed in their order. @param trace goes on with them */
export function* newTaskRecords<Input>(
  kind: TaskKind<Input>,
  tasks: readonly NewTask<Input>[],
  now: Date,
  trace = '',
): Generator<readonly TaskRecord[], void> {
  for (let from = 0; from < tasks.length; from += RECORDS_PER_PIECE) {
    const piece = tasks.slice(from, from + RECORDS_PER_PIECE);
    yield piece.map((task, index) => ({
      ...newRecord(kind, task, new Date(now.getTime() + from + index), now),
      trace,
    }));
  }
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
    error_code: '',
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
