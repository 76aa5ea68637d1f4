import { AppError } from '@wharf/errors';
import type { EnableStorageRequest, EnableStorageResponse } from '@wharf/proto/admin';
import type { StorageStarter } from '../domain/storage-starter.ts';
import type { AnnounceChange } from '../events/announce-change.ts';
import type { StorageStore } from '../store/storage-store.ts';

export const enableStorage =
  (storages: StorageStore, starter: StorageStarter, announceChange: AnnounceChange) =>
  async ({ id }: EnableStorageRequest): Promise<EnableStorageResponse> => {
    const storage = await storages.setDisabled(id, false);
    if (!storage) throw new AppError('FAILED_PRECONDITION', 'this storage have enabled');
    const revision = await announceChange(id);
    const problem = await starter.start(storage, revision);
    if (problem === undefined) return { revision };
    throw new AppError('STORAGE_UNAVAILABLE', `failed load storage: ${problem}`, { details: { id } });
  };
