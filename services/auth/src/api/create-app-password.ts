import type * as wire from '@wharf/proto/auth';
import type { Call } from '@wharf/service-kit';
import type { AppPasswords } from '../domain/app-passwords.ts';
import { accountOf, NO_APP_PASSWORDS } from './account-of.ts';

export const createAppPassword =
  (appPasswords: AppPasswords) =>
  async (request: wire.CreateAppPasswordRequest, call: Call): Promise<wire.CreateAppPasswordResponse> =>
    appPasswords.create(accountOf(call, NO_APP_PASSWORDS).id, request);
