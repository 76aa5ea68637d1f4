import type { Model } from 'mongoose';

/** https://www.mongodb.com/docs/manual/reference/error-codes/ */
const WRITE_CONFLICT = 112;
/** So often one request is made, where others are in the way. */
export const MAX_CONFLICTS = 5;

/** One compare-and-set of one record. */
export interface TaskUpdate {
  readonly filter: Readonly<Record<string, unknown>>;
  readonly update: Readonly<Record<string, unknown>>;
}

/** Changes records in one request, each if it meets its own filter. @returns how many did */
export async function updateEach({ collection }: Pick<Model<never>, 'collection'>, updates: readonly TaskUpdate[]): Promise<number> {
  for (let tries = 1; ; tries += 1) {
    try {
      // By the driver itself: mongoose takes as long to look at each of them as the store takes to do it.
      const { matchedCount } = await collection.bulkWrite(
        updates.map((updateOne) => ({ updateOne })),
        { ordered: false },
      );
      return matchedCount;
    } catch (error) {
      if (tries === MAX_CONFLICTS || !isConflict(error) || hasChanged(error)) throw error;
    }
  }
}

/** Whether two waited for what the other one held, and this one was given up: where an engine holds all that a request has looked at until its end. */
export function isConflict(error: unknown): boolean {
  return error instanceof Error && (Reflect.get(error, 'code') === WRITE_CONFLICT || error.message.includes('deadlock detected'));
}

/** Whether some of a request was done all the same: who asks for that again finds it changed. */
function hasChanged(error: unknown): boolean {
  return error instanceof Error && 'matchedCount' in error && error.matchedCount !== 0;
}
