import type { TaskModels } from '@wharf/models';

/** One compare-and-set of one task. */
export interface TaskUpdate {
  readonly filter: Readonly<Record<string, unknown>>;
  readonly update: Readonly<Record<string, unknown>>;
}

/** Changes tasks in one request, each if it meets its own filter. @returns how many did */
export async function updateEach({ tasks }: Pick<TaskModels, 'tasks'>, updates: readonly TaskUpdate[]): Promise<number> {
  // By the driver itself: mongoose takes as long to look at each of them as the store takes to do it.
  const { matchedCount } = await tasks.collection.bulkWrite(
    updates.map((updateOne) => ({ updateOne })),
    { ordered: false },
  );
  return matchedCount;
}
