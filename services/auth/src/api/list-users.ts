import type * as wire from '@wharf/proto/auth';
import type { Accounts } from '../domain/accounts.ts';
import { toWireUser } from './wire-user.ts';

export const listUsers =
  (accounts: Accounts) =>
  async ({ page, per_page }: wire.ListUsersRequest): Promise<wire.ListUsersResponse> => {
    const { users, total } = await accounts.list(page, per_page);
    return { content: users.map(toWireUser), total };
  };
