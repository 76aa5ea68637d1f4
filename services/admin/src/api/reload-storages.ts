import type { ReloadStoragesResponse } from '@wharf/proto/admin';
import type { StorageStarter } from '../domain/storage-starter.ts';
import type { AnnounceChange } from '../events/announce-change.ts';
import type { StorageStore } from '../store/storage-store.ts';

export const reloadStorages =
  (storages: StorageStore, starter: StorageStarter, announceChange: AnnounceChange) => async (): Promise<ReloadStoragesResponse> => {
    const enabled = (await storages.list()).filter((storage) => !storage.disabled);
    const revision = await announceChange();
    starter.startInBackground(enabled, revision);
    return { revision };
  };
