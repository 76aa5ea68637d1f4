import { AppError } from '@wharf/errors';
import type { DeleteSettingRequest, DeleteSettingResponse } from '@wharf/proto/admin';
import { DEPRECATED, findDefinition } from '../domain/setting-items.ts';
import type { AnnounceChange } from '../events/announce-change.ts';
import type { SettingStore } from '../store/setting-store.ts';

export const deleteSetting =
  (settings: SettingStore, announceChange: AnnounceChange) =>
  async ({ key }: DeleteSettingRequest): Promise<DeleteSettingResponse> => {
    await settings.change((saved) => {
      const item = saved.find((each) => each.key === key);
      if (!item && !findDefinition(key)) throw new AppError('RECORD_NOT_FOUND', 'failed to get settingItem: record not found');
      if (findDefinition(key) || item?.flag !== DEPRECATED)
        throw new AppError('FAILED_PRECONDITION', `setting [${key}] is not deprecated`, { details: { key } });
      return saved.filter((each) => each !== item);
    });
    return { revision: await announceChange() };
  };
