import type { TaskModels, TaskRecord } from '@wharf/models';
import type { Model } from 'mongoose';

/** https://www.mongodb.com/docs/manual/reference/error-codes/ */
const TYPE_MISMATCH = 14;
/** The same of `$add` before MongoDB 6.1. */
const ADDED_TO_NO_NUMBER = 16_554;

/**
 * What was claimed can be counted on.
 *
 * @throws TypeError: nothing can be added to its numbers, so that none of its worker's writes would be taken
 */
export function requireCounters(record: TaskRecord): TaskRecord {
  if (Number.isFinite(record.fence) && Number.isFinite(record.revision)) return record;
  throw new TypeError(`the task ${record._id} is stored oddly`);
}

/** Mends tasks by which others were not taken. */
export interface OddCounters {
  /** Gives numbers to those open tasks that have none where each write adds to one, if that is what the error comes of. */
  mend(error: unknown): Promise<void>;
}

export function createOddCounters({ tasks }: Pick<TaskModels, 'tasks'>): OddCounters {
  return {
    async mend(error) {
      if (isOddCounter(error)) await giveCounters(tasks, { done: false });
    },
  };
}

/** Gives numbers to those tasks that have none where each write adds to one. */
export async function giveCounters(
  { collection }: Pick<Model<never>, 'collection'>,
  filter: Readonly<Record<string, unknown>>,
): Promise<void> {
  // Above all that a worker may have been given before.
  const above = Date.now();
  for (const [field, value] of Object.entries({ fence: above, revision: above, losses: 0 })) {
    // By its order: NaN and the infinite are numbers, too, and of a list each part is compared.
    const isNone = [{ [field]: { $not: { $gte: -Number.MAX_VALUE, $lte: Number.MAX_VALUE } } }, { [field]: { $type: 'array' } }];
    await collection.updateMany({ ...filter, $or: isNone }, { $set: { [field]: value } });
  }
}

/** Whether an error comes of a task that has no number where a write adds to one. */
export function isOddCounter(error: unknown): boolean {
  return error instanceof TypeError || (error instanceof Error && [TYPE_MISMATCH, ADDED_TO_NO_NUMBER].includes(Reflect.get(error, 'code')));
}
