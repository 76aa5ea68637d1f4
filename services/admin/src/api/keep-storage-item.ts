import { AppError } from '@wharf/errors';
import { parseJson } from '@wharf/pace';
import type { KeepStorageItemRequest, KeepStorageItemResponse } from '@wharf/proto/admin';

import type { AnnounceChange } from '../events/announce-change.ts';
import type { StorageStore } from '../store/storage-store.ts';

/** Somebody else may write the storage between a look and the write. */
const MAX_TRIES = 10;

/**
 * Replaces an item that a driver keeps, also of a storage that was switched off meanwhile: what its server gave is given once. When several replicas
 * renew one token at once, one stores its token and the others take that.
 */
export const keepStorageItem =
  (storages: StorageStore, announceChange: AnnounceChange) =>
  async ({ id, name, before, after }: KeepStorageItemRequest): Promise<KeepStorageItemResponse> => {
    for (let attempt = 0; attempt < MAX_TRIES; attempt++) {
      const storage = await storages.get(id);
      const items: Record<string, unknown> = Object(parseJson(storage.addition));
      const value = String(items[name] ?? '');
      if (value !== before || value === after) return { value };
      const addition = JSON.stringify({ ...items, [name]: after });
      if (!(await storages.keepAddition(storage, addition))) continue;
      await announceChange(id);
      return { value: after };
    }
    throw new AppError('FAILED_PRECONDITION', 'the storage is changed all the time');
  };
