import { readRecord, type ShownTask, type TaskRecord, taskFields } from '@wharf/models';
import { shownError, shownName } from './shown-text.ts';
import { newTaskId } from './task-id.ts';
import type { TaskCreator } from './task-kind.ts';
import { TASK_STATE } from './task-state.ts';

/** What of a record people see: its other texts may name thousands of files. */
export type ShownRecord = Omit<TaskRecord, 'input' | 'checkpoint'>;
/** Reads that. */
export const SHOWN = { input: 0, checkpoint: 0 } as const;

/** A task as clients see it. */
export type WireTask = ShownTask;

const { input: _input, checkpoint: _checkpoint, ...SHOWN_FIELDS } = taskFields;

/** What can be shown: what is stored oddly is left empty, so that it keeps no other task out of a list. */
export const shownRecord = (stored: ShownRecord): ShownRecord => readRecord(SHOWN_FIELDS, stored).record;

export const wireTask = (stored: ShownRecord): WireTask => wireShown(shownRecord(stored));

/** @param record as `shownRecord` reads it */
export function wireShown(record: ShownRecord): WireTask {
  return {
    id: record._id,
    name: shownName(record.name),
    creator: record.creator,
    creator_role: record.creator_role,
    state: record.state,
    status: record.paused ? 'paused' : record.status,
    progress: record.progress,
    start_time: record.start_time?.toISOString() ?? null,
    end_time: record.end_time?.toISOString() ?? null,
    total_bytes: record.total_bytes,
    error: shownError(record.error),
    error_code: record.error_code ?? '',
    paused: record.paused,
    speed: record.speed,
    eta: record.eta,
    phase: record.phase,
    list: record.list,
  };
}

/** Work that was done within a request, in the form of a task; it is in no list. */
export function finishedTask(task: {
  name: string;
  list: string;
  creator: TaskCreator | undefined;
  startedAt: Date;
  sizeBytes: number;
  status?: string;
}): WireTask {
  return {
    id: newTaskId(),
    name: shownName(task.name),
    creator: task.creator?.name ?? '',
    creator_role: task.creator?.role ?? -1,
    state: TASK_STATE.succeeded,
    status: task.status ?? '',
    progress: 100,
    start_time: task.startedAt.toISOString(),
    end_time: new Date().toISOString(),
    total_bytes: task.sizeBytes,
    error: '',
    error_code: '',
    paused: false,
    speed: 0,
    eta: null,
    phase: '',
    list: task.list,
  };
}
