import { type Connection, createConnection } from 'mongoose';

/** How long an operation may wait for the store to come back, in milliseconds. */
const SERVER_SELECTION_MS = 5_000;
/** A store that does not even say hello for so long, in milliseconds, has gone: whatever waits for it fails. */
const HELLO_MS = 10_000;
/** No query may take longer, in milliseconds: whoever asked has gone by then (the deadline of calls that read). */
const QUERY_MS = 30_000;
const MAX_CONNECTIONS = 20;

export type StoreConnection = Connection;

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

/** True while operations can be expected to work. */
export function isStoreConnected(connection: StoreConnection): boolean {
  return connection.readyState === 1;
}
