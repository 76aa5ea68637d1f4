import { type Connection, createConnection } from 'mongoose';

/** How long an operation may wait for the store to come back, in milliseconds. */
const SERVER_SELECTION_MS = 5_000;
const MAX_CONNECTIONS = 20;

export type StoreConnection = Connection;

/** Connects to the store and waits until it answers. Indexes are made by the owners of their collections, not on connecting. */
export async function connectStore(url: string): Promise<StoreConnection> {
  const connection = createConnection(url, {
    autoIndex: false,
    autoCreate: false,
    maxPoolSize: MAX_CONNECTIONS,
    serverSelectionTimeoutMS: SERVER_SELECTION_MS,
  });
  return connection.asPromise();
}

/** True while operations can be expected to work. */
export function isStoreConnected(connection: StoreConnection): boolean {
  return connection.readyState === 1;
}
