import type * as wire from '@wharf/proto/auth';
import type { Call } from '@wharf/service-kit';
import type { SshKey, SshKeys } from '../domain/ssh-keys.ts';
import { keyOwner } from './account-of.ts';

export const listSshKeys =
  (sshKeys: SshKeys) =>
  async ({ page, per_page }: wire.ListSshKeysRequest, call: Call): Promise<wire.ListSshKeysResponse> =>
    toWirePage(await sshKeys.list(keyOwner(call).id, page, per_page));

export const listUserSshKeys =
  (sshKeys: SshKeys) =>
  async ({ user_id, page, per_page }: wire.ListUserSshKeysRequest): Promise<wire.ListUserSshKeysResponse> =>
    toWirePage(await sshKeys.listOf(user_id, page, per_page));

function toWirePage({ keys, total }: { keys: SshKey[]; total: number }): wire.ListSshKeysResponse {
  const content = keys.map(({ id, title, fingerprint, addedAt, lastUsedAt }) => ({
    id,
    title,
    fingerprint,
    added_time: addedAt.toISOString(),
    last_used_time: lastUsedAt.toISOString(),
  }));
  return { content, total };
}
