import type { ListDefaultSettingsRequest, ListDefaultSettingsResponse } from '@wharf/proto/admin';
import { randomToken } from '../domain/random-token.ts';
import { factoryItems, itemsOfGroups, withToken } from '../domain/setting-items.ts';

export const listDefaultSettings = async ({ groups }: ListDefaultSettingsRequest): Promise<ListDefaultSettingsResponse> => ({
  items: [...(await withToken(itemsOfGroups(factoryItems(), groups), randomToken))],
});
