import type { Model } from 'mongoose';

const FORMER_OF_TASKS = ['waiting_1_kind_1_priority_-1_run_at_1', 'done_1_end_time_-1'];
/** Indexes that earlier versions declared, by collection. A store that has them would go on keeping them with every write. */
const FORMER_INDEXES: Readonly<Record<string, readonly string[]>> = {
  sessions: ['user_id_1'],
  fs_tasks: FORMER_OF_TASKS,
  download_tasks: FORMER_OF_TASKS,
  search_entries: ['folder_1'],
  download_seeds: ['remove_at_1'],
};

/** The server's error codes for a collection, and for an index, that is not there. */
const NOT_THERE: readonly unknown[] = [26, 27];

/** Makes the indexes that a collection declares, and drops those that it does no more. It may be done by many at once, and again. */
export async function makeIndexes<Record>(model: Model<Record>): Promise<void> {
  await model.createIndexes();
  await dropFormerIndexes(model);
}

/** The second half alone. */
export async function dropFormerIndexes<Record>({ collection }: Model<Record>): Promise<void> {
  for (const name of FORMER_INDEXES[collection.collectionName] ?? [])
    await collection.dropIndex(name).catch((error: unknown) => {
      if (!(error instanceof Error && 'code' in error && NOT_THERE.includes(error.code))) throw error;
    });
}
