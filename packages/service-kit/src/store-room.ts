import type { Connection } from 'mongoose';

/**
 * How many documents of a kind a store has room for: an embedded one tells how many it holds in all, others hold any number. It is asked once.
 *
 * @param share of all documents that these may be
 * @throws what the store throws
 */
export function createStoreRoom(connection: Connection, share: number): () => Promise<number> {
  let known: number | undefined;
  return async () => {
    if (known === undefined) {
      const { maxDocuments } = await connection.getClient().db('admin').command({ buildInfo: 1 });
      known = typeof maxDocuments === 'number' ? Math.floor(share * maxDocuments) : Number.POSITIVE_INFINITY;
    }
    return known;
  };
}
