import { type Connection, createConnection } from 'mongoose';
import { MAX_KEPT_MS } from './ask-store.ts';
import { endWritesWithConnections } from './closing-writes.ts';

/** How long an operation may wait for the store to come back, in milliseconds. */
const SERVER_SELECTION_MS = 5_000;
/** A store that does not even say hello for so long, in milliseconds, has gone: whatever waits for it fails. */
const HELLO_MS = 10_000;
/** No query may take longer, in milliseconds: whoever asked has gone by then (the deadline of calls that read). */
const QUERY_MS = 30_000;
const MAX_CONNECTIONS = 20;

export type StoreConnection = Connection;

endWritesWithConnections();

/**
 * Connects to the store and waits until it answers. Indexes are made by the owners of their collections, not on connecting.
 *
 * What was acknowledged survives the loss of a member, and reads see it: write concern and read preference are ours, whatever the URL says.
 */
export async function connectStore(url: string): Promise<StoreConnection> {
  const connection = createConnection(url, {
    autoIndex: false,
    autoCreate: false,
    // The driver waits for a store that is away, and sees sooner than mongoose that it is back.
    bufferCommands: false,
    maxPoolSize: MAX_CONNECTIONS,
    serverSelectionTimeoutMS: SERVER_SELECTION_MS,
    connectTimeoutMS: HELLO_MS,
    w: 'majority',
    readPreference: 'primary',
  });
  connection.set('maxTimeMS', QUERY_MS);
  return connection.asPromise();
}

/** Whether requests can be expected to be answered: the store is there, or was so lately that reads are answered from what is known. */
export function createStoreCheck(connection: StoreConnection): () => boolean {
  let seenAt = performance.now();
  return () => {
    if (connection.readyState === 1) seenAt = performance.now();
    return performance.now() - seenAt < MAX_KEPT_MS;
  };
}
