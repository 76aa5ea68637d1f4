import { mkdir } from 'node:fs/promises';
import { AppError } from '@wharf/errors';
import { firstStorage } from '../domain/first-storage.ts';
import type { Counters } from './counters.ts';
import type { StorageStore } from './storage-store.ts';

const FIRST_ID = 1;

/**
 * Configures the folder as a storage, and makes it where it is missing, unless there is or ever was a storage.
 *
 * May run again after a crash at any point, and in several replicas at once.
 */
export async function configureFirstStorage(storages: StorageStore, counters: Counters, filesDir: string, now: Date): Promise<void> {
  if ((await counters.lastId('storages')) > 0) return;
  if ((await storages.list()).length === 0) {
    await mkdir(filesDir, { recursive: true });
    await storages.insert(FIRST_ID, firstStorage(filesDir), now).catch(ignoreTaken);
  }
  // Last, because it says that there was a storage once.
  await counters.reserveIds('storages', FIRST_ID);
}

function ignoreTaken(error: unknown): void {
  if (!AppError.is(error, 'RECORD_EXISTS')) throw error;
}
