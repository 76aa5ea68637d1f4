import type { DeleteStorageRequest, DeleteStorageResponse } from '@wharf/proto/admin';
import type { StorageStarter } from '../domain/storage-starter.ts';
import type { AnnounceChange } from '../events/announce-change.ts';
import type { StorageStore } from '../store/storage-store.ts';

export const deleteStorage =
  (storages: StorageStore, starter: StorageStarter, announceChange: AnnounceChange) =>
  async ({ id }: DeleteStorageRequest): Promise<DeleteStorageResponse> => {
    await storages.remove(id);
    const revision = await announceChange(id);
    await starter.drop(id, revision);
    return { revision };
  };
