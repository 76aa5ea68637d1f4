import type { ListSettingsRequest, ListSettingsResponse } from '@wharf/proto/admin';
import type { Call } from '@wharf/service-kit';
import type { PermanentToken } from '../clients/permanent-token.ts';
import { itemsOfGroups, settingItems, withToken } from '../domain/setting-items.ts';
import type { SettingStore } from '../store/setting-store.ts';

export const listSettings =
  (settings: SettingStore, token: PermanentToken) =>
  async (request: ListSettingsRequest, call: Call): Promise<ListSettingsResponse> => {
    const items = itemsOfGroups(settingItems(await settings.read()), request.groups);
    return { items: [...(await withToken(items, () => token.read(call)))] };
  };
