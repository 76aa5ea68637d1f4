import type { ReportStorageStatusRequest, ReportStorageStatusResponse } from '@wharf/proto/admin';
import type { AnnounceChange } from '../events/announce-change.ts';
import type { StorageStore } from '../store/storage-store.ts';

/**
 * A status is no configuration, so no change is announced. Otherwise replicas of fs with different outcomes would restart each other's
 * storage for ever. An addition that a driver changed (a renewed token) is configuration.
 */
export const reportStorageStatus =
  (storages: StorageStore, announceChange: AnnounceChange) =>
  async ({ id, status, addition }: ReportStorageStatusRequest): Promise<ReportStorageStatusResponse> => {
    const storage = await storages.get(id);
    const isNewAddition = addition !== '' && addition !== storage.addition;
    if (storage.disabled || (storage.status === status && !isNewAddition)) return {};
    const isWritten = await storages.writeOutcome(storage, status, isNewAddition ? addition : undefined);
    if (isWritten && isNewAddition) await announceChange(id);
    return {};
  };
