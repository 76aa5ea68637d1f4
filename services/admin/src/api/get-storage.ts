import type { GetStorageRequest, GetStorageResponse } from '@wharf/proto/admin';
import type { StorageStore } from '../store/storage-store.ts';
import { toWireStorage } from './to-wire-storage.ts';

export const getStorage =
  (storages: StorageStore) =>
  async ({ id }: GetStorageRequest): Promise<GetStorageResponse> => ({ storage: toWireStorage(await storages.get(id)) });
