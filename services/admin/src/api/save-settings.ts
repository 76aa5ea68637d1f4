import { AppError } from '@wharf/errors';
import type { SaveSettingsRequest, SaveSettingsResponse } from '@wharf/proto/admin';
import type { Call, LoginOfNow } from '@wharf/service-kit';
import type { FsClient } from '../clients/fs.ts';
import type { PermanentToken } from '../clients/permanent-token.ts';
import { findToken, planSave, refusal } from '../domain/plan-save.ts';
import { SEARCH_INDEX_KEY, searchIndexOf, TOKEN_KEY } from '../domain/setting-items.ts';
import type { AnnounceChange } from '../events/announce-change.ts';
import type { SettingStore } from '../store/setting-store.ts';

interface Parts {
  readonly settings: SettingStore;
  readonly token: PermanentToken;
  readonly announceChange: AnnounceChange;
  readonly fs: Pick<FsClient, 'isIndexing'>;
  readonly loginOfNow: (call: Call) => Promise<LoginOfNow>;
}

export const saveSettings =
  ({ settings, token, announceChange, fs, loginOfNow }: Parts) =>
  async ({ items }: SaveSettingsRequest, call: Call): Promise<SaveSettingsResponse> => {
    const login = await loginOfNow(call);
    // Everything is checked before the token changes, because that happens in another service and cannot be taken back.
    const before = await settings.read();
    const planned = planSave(before, items) ?? before;
    if (searchIndexOf(planned) !== searchIndexOf(before) && (await fs.isIndexing())) throw refusal(SEARCH_INDEX_KEY, 'index is running');
    // It may have been waited for.
    await login();
    const wantedToken = findToken(items);
    if (wantedToken !== undefined && wantedToken !== (await token.read(call))) await replaceToken(token, call, wantedToken);
    await settings.change((saved) => planSave(saved, items));
    // The change is announced also when nothing changed: an earlier call may have written it and failed before it was counted.
    return { revision: await announceChange() };
  };

async function replaceToken(token: PermanentToken, call: Call, wanted: string): Promise<void> {
  try {
    await token.replace(call, wanted);
  } catch (error) {
    throw AppError.is(error) ? refusal(TOKEN_KEY, error.message, error) : error;
  }
}
