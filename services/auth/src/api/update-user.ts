import type * as wire from '@wharf/proto/auth';
import type { Accounts } from '../domain/accounts.ts';
import { userIn } from './wire-user.ts';

export const updateUser =
  (accounts: Accounts) =>
  async (request: wire.UpdateUserRequest): Promise<wire.UpdateUserResponse> => {
    const user = userIn(request);
    return { revision: await accounts.update(user.id, user) };
  };
