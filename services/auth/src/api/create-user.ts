import type * as wire from '@wharf/proto/auth';
import type { Accounts } from '../domain/accounts.ts';
import { userIn } from './wire-user.ts';

export const createUser =
  (accounts: Accounts) =>
  async (request: wire.CreateUserRequest): Promise<wire.CreateUserResponse> =>
    accounts.create(userIn(request));
