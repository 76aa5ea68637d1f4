import type * as wire from '@wharf/proto/auth';
import type { Call } from '@wharf/service-kit';
import type { AppPasswords } from '../domain/app-passwords.ts';
import { accountOf, NO_APP_PASSWORDS } from './account-of.ts';

export const deleteAppPassword =
  (appPasswords: AppPasswords) =>
  async ({ id }: wire.DeleteAppPasswordRequest, call: Call): Promise<wire.DeleteAppPasswordResponse> => ({
    revision: await appPasswords.remove(id, accountOf(call, NO_APP_PASSWORDS).id),
  });
