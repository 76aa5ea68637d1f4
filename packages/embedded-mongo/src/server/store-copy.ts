import { socketPathOf, socketUrl } from './listen-address.ts';

/** A copy that a store makes of itself while it serves others, whole and durable, unless it is there. */
export const STORE_COPY = {
  /** For `copyAs`, of a store that nobody has open. */
  name: 'backup',
  /** Where it lies in the data directory; the caller takes it away. */
  file: 'store.backup.sqlite',
  /** For the database `admin` of one that runs. The store answers nobody else meanwhile. */
  command: { copyStore: 1 },
} as const;

/** The address of the store that runs in another process on this data directory, if one listens on its socket. @throws as a start */
export const runningStoreUrl = (dataDir: string): string => socketUrl(socketPathOf(dataDir));
