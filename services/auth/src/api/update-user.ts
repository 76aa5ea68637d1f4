import type * as wire from '@wharf/proto/auth';
import type { Call, LoginOfNow } from '@wharf/service-kit';
import type { Accounts } from '../domain/accounts.ts';
import { userIn } from './wire-user.ts';

export const updateUser =
  (accounts: Accounts, loginOfNow: (call: Call) => Promise<LoginOfNow>) =>
  async (request: wire.UpdateUserRequest, call: Call): Promise<wire.UpdateUserResponse> => {
    const user = userIn(request);
    return { revision: await accounts.update(user.id, user, await loginOfNow(call)) };
  };
