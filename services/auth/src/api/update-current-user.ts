import type * as wire from '@wharf/proto/auth';
import type { Call, LoginOfNow } from '@wharf/service-kit';
import type { Accounts } from '../domain/accounts.ts';
import { accountOf } from './account-of.ts';

export const updateCurrentUser =
  (accounts: Accounts, loginOfNow: (call: Call) => Promise<LoginOfNow>) =>
  async ({ username, password, sso_id }: wire.UpdateCurrentUserRequest, call: Call): Promise<wire.UpdateCurrentUserResponse> => {
    const { id } = accountOf(call, 'Guest user can not update profile');
    return { revision: await accounts.updateSelf(id, { username, password, sso_id }, await loginOfNow(call)) };
  };
