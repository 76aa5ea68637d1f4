import type * as wire from '@wharf/proto/auth';
import type { Call } from '@wharf/service-kit';
import type { AppPasswords } from '../domain/app-passwords.ts';
import { accountOf, NO_APP_PASSWORDS } from './account-of.ts';

export const listAppPasswords =
  (appPasswords: AppPasswords) =>
  async ({ page, per_page }: wire.ListAppPasswordsRequest, call: Call): Promise<wire.ListAppPasswordsResponse> => {
    const { appPasswords: found, total } = await appPasswords.list(accountOf(call, NO_APP_PASSWORDS).id, page, per_page);
    const content = found.map(({ id, name, protocols, readOnly, path, createdAt, expiresAt, lastUsedAt }) => ({
      id,
      name,
      protocols: [...protocols],
      read_only: readOnly,
      path,
      created_time: createdAt.toISOString(),
      expires_time: expiresAt?.toISOString() ?? '',
      last_used_time: lastUsedAt?.toISOString() ?? '',
    }));
    return { content, total };
  };
