import type { TaskModels, TaskRecord } from '@wharf/models';

/** One compare-and-set of one task. */
export interface TaskUpdate {
  readonly filter: Readonly<Record<string, unknown>>;
  readonly update: Readonly<Record<string, unknown>>;
}

/** Changes tasks in one request, each if it meets its own filter. @returns how many did */
export async function updateEach({ tasks }: Pick<TaskModels, 'tasks'>, updates: readonly TaskUpdate[]): Promise<number> {
  const { matchedCount } = await tasks.bulkWrite(
    updates.map((updateOne) => ({ updateOne })),
    { ordered: false },
  );
  return matchedCount;
}
