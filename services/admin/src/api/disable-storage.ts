import { AppError } from '@wharf/errors';
import type { DisableStorageRequest, DisableStorageResponse } from '@wharf/proto/admin';
import type { StorageStarter } from '../domain/storage-starter.ts';
import type { AnnounceChange } from '../events/announce-change.ts';
import type { StorageStore } from '../store/storage-store.ts';

export const disableStorage =
  (storages: StorageStore, starter: StorageStarter, announceChange: AnnounceChange) =>
  async ({ id }: DisableStorageRequest): Promise<DisableStorageResponse> => {
    if (!(await storages.setDisabled(id, true))) throw new AppError('FAILED_PRECONDITION', 'this storage have disabled');
    const revision = await announceChange(id);
    await starter.drop(id, revision);
    return { revision };
  };
