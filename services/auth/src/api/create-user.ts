import type * as wire from '@wharf/proto/auth';
import type { Call, LoginOfNow } from '@wharf/service-kit';
import type { Accounts } from '../domain/accounts.ts';
import { userIn } from './wire-user.ts';

export const createUser =
  (accounts: Accounts, loginOfNow: (call: Call) => Promise<LoginOfNow>) =>
  async (request: wire.CreateUserRequest, call: Call): Promise<wire.CreateUserResponse> =>
    accounts.create(userIn(request), await loginOfNow(call));
