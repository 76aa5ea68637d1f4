import { mongo } from 'mongoose';

/** The server's error code for a write that a unique index refuses. */
const DUPLICATE_KEY = 11_000;

/** True when a write failed because a record with the same unique key exists. */
export function isDuplicateKey(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === DUPLICATE_KEY;
}

/**
 * Which documents of an unordered insert were refused because they exist, by index; undefined when it failed for anything else too. A store that is
 * lost in the middle ends a bulk without saying what is wrong with any document, so all of them have to be accounted for.
 *
 * @param count documents that were to be inserted
 */
export function duplicatesOf(error: unknown, count: number): ReadonlySet<number> | undefined {
  if (!(error instanceof mongo.MongoBulkWriteError) || error.result.getWriteConcernError()) return undefined;
  const refused = [error.writeErrors].flat();
  if (error.result.insertedCount + refused.length !== count) return undefined;
  return refused.every(({ code }) => code === DUPLICATE_KEY) ? new Set(refused.map(({ index }) => index)) : undefined;
}
