import { boundsOf, sliceOf } from '@wharf/pace';
import type { ListStoragesRequest, ListStoragesResponse } from '@wharf/proto/admin';
import type { StorageStore } from '../store/storage-store.ts';
import { toWireStorage } from './to-wire-storage.ts';

export const listStorages =
  (storages: StorageStore) =>
  async ({ page, per_page }: ListStoragesRequest): Promise<ListStoragesResponse> => {
    const all = await storages.list();
    const { start, end } = boundsOf(sliceOf(page, per_page), all.length);
    return { content: all.slice(start, end).map(toWireStorage), total: all.length };
  };
