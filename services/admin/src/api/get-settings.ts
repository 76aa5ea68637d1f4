import { AppError } from '@wharf/errors';
import type { GetSettingsRequest, GetSettingsResponse } from '@wharf/proto/admin';
import type { Call } from '@wharf/service-kit';
import type { PermanentToken } from '../clients/permanent-token.ts';
import { settingItems, withToken } from '../domain/setting-items.ts';
import type { SettingStore } from '../store/setting-store.ts';

/** One may be asked for several times, and is answered as often: of the longest 64 KiB each time. */
const MAX_KEYS = 300;

export const getSettings =
  (settings: SettingStore, token: PermanentToken) =>
  async ({ keys }: GetSettingsRequest, call: Call): Promise<GetSettingsResponse> => {
    if (keys.length > MAX_KEYS) throw new AppError('INVALID_ARGUMENT', `no more than ${MAX_KEYS} settings at once`);
    const byKey = new Map(settingItems(await settings.read()).map((item) => [item.key, item]));
    const unique = [...new Set(keys)].map((key) => byKey.get(key)).filter((item) => item !== undefined);
    const found = new Map((await withToken(unique, () => token.read(call))).map((item) => [item.key, item]));
    const items = keys.map((key) => found.get(key)).filter((item) => item !== undefined);
    if (items.length === 0 || items.length < keys.length) throw new AppError('RECORD_NOT_FOUND', 'record not found');
    return { items };
  };
