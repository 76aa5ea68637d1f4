/** The states of a task, by the numbers that clients know. 5 and 9 of the family do not occur: a failed attempt is judged at once. */
export const TASK_STATE = {
  pending: 0,
  running: 1,
  succeeded: 2,
  canceling: 3,
  canceled: 4,
  failing: 6,
  failed: 7,
  waitingRetry: 8,
} as const;

/** Nobody works on it, and somebody will. */
export const QUEUED_STATES = [TASK_STATE.pending, TASK_STATE.waitingRetry];
/** A worker holds it, or should. */
export const HELD_STATES = [TASK_STATE.running, TASK_STATE.canceling, TASK_STATE.failing];
/** A worker puts away what it left. */
export const CLEANUP_STATES = [TASK_STATE.canceling, TASK_STATE.failing];
/** Nothing happens to it any more by itself. */
export const DONE_STATES = [TASK_STATE.succeeded, TASK_STATE.canceled, TASK_STATE.failed];
