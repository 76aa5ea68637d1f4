import type { Connection } from 'mongoose';

/**
 * Tasks of one owner that have not ended take this share of a store that is bounded. Its rest is for those of the other owner, for what has ended,
 * and for logins, the audit trail and uploads: without room for these nobody can do anything.
 */
const SHARE = 0.15;

/**
 * How many tasks a store has room for that have not ended: an embedded one tells how many documents it holds, others hold any number. It is asked once.
 *
 * @throws what the store throws
 */
export function createStoreRoom(connection: Connection): () => Promise<number> {
  let known: number | undefined;
  return async () => {
    if (known === undefined) {
      const { maxDocuments } = await connection.getClient().db('admin').command({ buildInfo: 1 });
      known = typeof maxDocuments === 'number' ? Math.floor(SHARE * maxDocuments) : Number.POSITIVE_INFINITY;
    }
    return known;
  };
}
