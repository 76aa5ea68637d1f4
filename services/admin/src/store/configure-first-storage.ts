import { mkdir } from 'node:fs/promises';
import { AppError } from '@wharf/errors';
import { FIRST_MOUNT_PATH, type FolderDriver, folderStorage } from '../domain/first-storage.ts';
import type { Counters } from './counters.ts';
import type { StorageStore } from './storage-store.ts';

const FIRST_ID = 1;
/** How long after a failure it is tried again, in milliseconds: fs starts within a few seconds. */
const RETRY_MS = 500;

/** A first start's storage: a folder of this machine. */
export interface FirstStorage {
  /** Configures the folder as a storage unless there is or ever was one. While fs is away it is tried again later, and this resolves. */
  configure(): Promise<void>;
  stop(): void;
}

/**
 * May run again after a crash at any point, and in several replicas at once.
 *
 * @param folder is made where it is missing; undefined: none is configured. @param onConfigured after a storage was configured late
 */
export function createFirstStorage(parts: {
  readonly storages: StorageStore;
  readonly counters: Counters;
  readonly folder: string | undefined;
  readonly driver: () => Promise<FolderDriver>;
  readonly clock: () => number;
  readonly onConfigured: () => Promise<unknown>;
  readonly onError: (error: unknown) => void;
}): FirstStorage {
  const { folder, onConfigured, onError } = parts;
  let timer: NodeJS.Timeout | undefined;
  let isStopped = false;
  const tryAgain = (error: unknown) => {
    onError(error);
    if (!isStopped) timer = setTimeout(() => void configureOnce().then(onConfigured).catch(tryAgain), RETRY_MS);
  };
  const configureOnce = async () => {
    if (folder !== undefined) await configureFirstStorage(parts, folder);
  };
  return {
    configure: () =>
      configureOnce().catch((error) => {
        if (!AppError.means(error, 'absent')) throw error;
        tryAgain(error);
      }),
    stop() {
      isStopped = true;
      clearTimeout(timer);
    },
  };
}

async function configureFirstStorage(
  {
    storages,
    counters,
    driver,
    clock,
  }: {
    readonly storages: StorageStore;
    readonly counters: Counters;
    readonly driver: () => Promise<FolderDriver>;
    readonly clock: () => number;
  },
  folder: string,
): Promise<void> {
  if ((await counters.lastId('storages')) > 0) return;
  if ((await storages.list()).length === 0) {
    const fields = folderStorage(await driver(), { mountPath: FIRST_MOUNT_PATH, folder });
    await mkdir(folder, { recursive: true });
    await storages.insert(FIRST_ID, fields, new Date(clock())).catch(ignoreTaken);
  }
  // This is written last: it says that there was a storage once.
  await counters.reserveIds('storages', FIRST_ID);
}

function ignoreTaken(error: unknown): void {
  if (!AppError.is(error, 'RECORD_EXISTS')) throw error;
}
