import { taskModelsOf } from '@wharf/models';
import type { StoreConnection } from '@wharf/service-kit';
import { TASK_STATE } from '@wharf/task-engine';

/** Inputs of the tasks of a kind that may still run: those that have not ended, and those that failed or were cancelled after `since`. */
export async function readOpenInputs(store: StoreConnection, kind: string, since: Date): Promise<unknown[]> {
  const { tasks } = taskModelsOf(store, 'fs');
  // By no index: it is read in pieces, and a task that moves in an index meanwhile, as one that is taken does, would be missed.
  const records = await tasks.find({ kind, forget: false }, { input: 1, state: 1, end_time: 1 }).lean();
  return records
    .filter(({ state, end_time }) => state !== TASK_STATE.succeeded && (!end_time || end_time > since))
    .map(({ input }) => JSON.parse(input));
}
