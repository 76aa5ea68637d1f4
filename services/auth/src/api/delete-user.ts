import type * as wire from '@wharf/proto/auth';
import type { Accounts } from '../domain/accounts.ts';

export const deleteUser =
  (accounts: Accounts) =>
  async ({ id }: wire.DeleteUserRequest): Promise<wire.DeleteUserResponse> => ({ revision: await accounts.remove(id) });
