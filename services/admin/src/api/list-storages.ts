import type { ListStoragesRequest, ListStoragesResponse } from '@wharf/proto/admin';
import { pageOf } from '../domain/page-of.ts';
import type { StorageStore } from '../store/storage-store.ts';
import { toWireStorage } from './to-wire-storage.ts';

export const listStorages =
  (storages: StorageStore) =>
  async ({ page, per_page }: ListStoragesRequest): Promise<ListStoragesResponse> => {
    const { content, total } = pageOf(await storages.list(), page, per_page);
    return { content: content.map(toWireStorage), total };
  };
