import { AppError } from '@wharf/errors';
import type { StorageRecord } from '@wharf/models';
import type { DriverDefinition } from '../driver-contract/define-driver.ts';
import type { DriverRegistry } from '../driver-contract/driver-registry.ts';
import type { StorageDriver } from '../driver-contract/storage-driver.ts';

/** The status of a storage that works. */
const WORKING = 'work';

/** The longest that opening a storage may take, in milliseconds. */
const OPEN_TIMEOUT_MS = 15_000;
/** After a failure a storage is tried again when it is asked for, but not sooner than this; doubled each time up to the maximum. */
const FIRST_RETRY_MS = 2_000;
const MAX_RETRY_MS = 60_000;

/** A configured storage, opened when first used. */
export interface Mount {
  readonly storage: StorageRecord;
  readonly definition: DriverDefinition;
  /** @throws AppError STORAGE_UNAVAILABLE `storage status: <why>: storage not init` */
  driver(): Promise<StorageDriver>;
}

/** The storages of this process. */
export interface Mounts {
  /** Takes a configuration over: what did not change stays open. Answers the mount of each enabled storage. */
  apply(storages: readonly StorageRecord[]): Map<number, Mount>;
  /** Opens a storage afresh and answers its status, or undefined when it is not enabled. */
  reopen(id: number): Promise<string | undefined>;
  /** The `addition` of a storage as its driver keeps it; undefined when the driver cannot read it. */
  normalisedAddition(id: number): string | undefined;
  /** Opens what is not open yet. */
  openAll(): Promise<void>;
  close(): Promise<void>;
}

export interface MountsOptions {
  readonly registry: DriverRegistry;
  readonly clock: () => number;
  /** The clear text of a stored `addition`. */
  readonly unseal: (sealed: string) => string;
  /** Told when opening ends with another status than the stored one. */
  readonly onStatus: (storage: StorageRecord, status: string) => void;
  /** Told what went wrong on opening or closing. */
  readonly onError: (error: unknown, storage: StorageRecord) => void;
}

interface Connection extends Mount {
  storage: StorageRecord;
  readonly addition: string;
  readonly open: () => Promise<StorageDriver>;
  readonly close: () => Promise<void>;
  readonly isUsed: () => boolean;
}

export function createMounts(options: MountsOptions): Mounts {
  const connections = new Map<number, Connection>();

  const connectionOf = (storage: StorageRecord): Connection | undefined => {
    const definition = options.registry.findDriver(storage.driver);
    if (!definition) return undefined;
    const addition = options.unseal(storage.addition);
    const known = connections.get(storage._id);
    if (known && known.definition === definition && known.addition === addition) {
      known.storage = storage;
      return known;
    }
    return createConnection(storage, definition, addition, options);
  };
  /** The connection that took the place of this one when the storage was opened afresh; itself when its configuration has changed since. */
  const openedAfresh = (connection: Connection): Connection => {
    const now = connections.get(connection.storage._id);
    return now && now.definition === connection.definition && now.addition === connection.addition ? now : connection;
  };
  const replace = (id: number, next: Connection | undefined) => {
    const old = connections.get(id);
    if (old === next) return;
    if (next) connections.set(id, next);
    else connections.delete(id);
    if (old) old.close().catch((error) => options.onError(error, old.storage));
  };

  return {
    apply(storages) {
      const enabled = storages.filter((storage) => !storage.disabled);
      const wanted = new Map(enabled.map((storage) => [storage._id, connectionOf(storage)]));
      for (const id of [...connections.keys()]) if (!wanted.get(id)) replace(id, undefined);
      const mounts = new Map<number, Mount>();
      for (const [id, connection] of wanted) {
        if (!connection) continue;
        replace(id, connection);
        // The record is copied: a request goes on with the configuration it began with.
        const { storage, definition } = connection;
        mounts.set(id, { storage, definition, driver: () => openedAfresh(connection).driver() });
      }
      return mounts;
    },
    async reopen(id) {
      const known = connections.get(id);
      if (!known) return undefined;
      const connection = known.isUsed() ? createConnection(known.storage, known.definition, known.addition, options) : known;
      replace(id, connection);
      return connection.open().then(() => WORKING, statusOf);
    },
    normalisedAddition(id) {
      const connection = connections.get(id);
      if (!connection) return undefined;
      try {
        return connection.definition.normaliseAddition(connection.addition);
      } catch {
        return undefined;
      }
    },
    async openAll() {
      await Promise.allSettled([...connections.values()].map((connection) => connection.open()));
    },
    async close() {
      const all = [...connections.values()];
      connections.clear();
      await Promise.allSettled(all.map((connection) => connection.close()));
    },
  };
}

function createConnection(storage: StorageRecord, definition: DriverDefinition, addition: string, options: MountsOptions): Connection {
  let opening: Promise<StorageDriver> | undefined;
  let failure: { error: unknown; retryAt: number; waitMs: number } | undefined;
  let isClosed = false;

  const start = async (): Promise<StorageDriver> => {
    try {
      const driver = await openInTime(definition, addition);
      if (isClosed) {
        await driver.close();
        throw new AppError('STORAGE_UNAVAILABLE', 'the storage was closed');
      }
      failure = undefined;
      if (connection.storage.status !== WORKING) options.onStatus(connection.storage, WORKING);
      return driver;
    } catch (error) {
      const waitMs = failure ? Math.min(failure.waitMs * 2, MAX_RETRY_MS) : FIRST_RETRY_MS;
      failure = { error, waitMs, retryAt: options.clock() + waitMs };
      opening = undefined;
      options.onError(error, connection.storage);
      if (!isClosed && connection.storage.status !== statusOf(error)) options.onStatus(connection.storage, statusOf(error));
      throw error;
    }
  };
  const open = (): Promise<StorageDriver> => {
    opening ??= start();
    return opening;
  };
  const connection: Connection = {
    storage,
    definition,
    addition,
    open,
    isUsed: () => opening !== undefined || failure !== undefined,
    async driver() {
      if (!opening && failure && options.clock() < failure.retryAt) throw notStarted(failure.error);
      try {
        return await open();
      } catch (error) {
        throw notStarted(error);
      }
    },
    async close() {
      isClosed = true;
      const driver = await opening?.catch(() => undefined);
      await driver?.close();
    },
  };
  return connection;
}

async function openInTime(definition: DriverDefinition, addition: string): Promise<StorageDriver> {
  const late = new AppError('DEADLINE_EXCEEDED', 'the storage did not answer in time');
  const abort = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      abort.abort(late);
      reject(late);
    }, OPEN_TIMEOUT_MS);
  });
  const opening = definition.open(addition, { signal: abort.signal });
  // A driver that opens after all has nobody left who would close it.
  opening.then(
    (driver) => (abort.signal.aborted ? driver.close() : undefined),
    () => undefined,
  );
  try {
    return await Promise.race([opening, limit]);
  } finally {
    clearTimeout(timer);
  }
}

/** What the admin reads as the status of a storage that could not be opened. */
function statusOf(error: unknown): string {
  return AppError.is(error) ? error.message : 'internal error';
}

function notStarted(error: unknown): AppError {
  return new AppError('STORAGE_UNAVAILABLE', `storage status: ${statusOf(error)}: storage not init`, { cause: error });
}
