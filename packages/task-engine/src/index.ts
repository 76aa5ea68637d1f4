export { holdBackup } from './hold-backup.ts';
export type { NewTask } from './new-task.ts';
export { isTooMany } from './open-limit.ts';
export { backoffMs, postponed, postponedMs } from './postponed.ts';
export { type RecordRoom, SHORT_TASK_BYTES } from './record-room.ts';
export type { TaskAction, TaskScope } from './task-control.ts';
export { createTaskEngine, type TaskEngine, type TaskEngineOptions } from './task-engine.ts';
export { createTaskFeed, type TaskChange, type TaskFeed } from './task-feed.ts';
export { derivedTaskId } from './task-id.ts';
export {
  defineTaskKind,
  type TaskChunks,
  type TaskCreator,
  type TaskKind,
  type TaskOutcome,
  type TaskProgress,
  type TaskRun,
} from './task-kind.ts';
export { createTaskRpc } from './task-rpc.ts';
export { TASK_STATE } from './task-state.ts';
export { finishedTask, type WireTask, wireTask } from './wire-task.ts';
