import type * as wire from '@wharf/proto/auth';
import type { Accounts } from '../domain/accounts.ts';
import { toWireUser } from './wire-user.ts';

export const getUser =
  (accounts: Accounts) =>
  async ({ id }: wire.GetUserRequest): Promise<wire.GetUserResponse> => ({ user: toWireUser(await accounts.get(id)) });
