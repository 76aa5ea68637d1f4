import type { Accounts } from './accounts.ts';
import { ADMIN_ID, newPassword } from './first-start.ts';

/** Gives the admin a random password, which ends all of the admin's sessions, and answers it. */
export async function resetAdminPassword(accounts: Pick<Accounts, 'get' | 'updateSelf'>): Promise<string> {
  const { username, ssoId } = await accounts.get(ADMIN_ID);
  const password = newPassword();
  await accounts.updateSelf(ADMIN_ID, { username, password, sso_id: ssoId });
  return password;
}
