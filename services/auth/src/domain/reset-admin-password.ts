import type { Accounts } from './accounts.ts';
import { ADMIN_ID, newPassword } from './first-start.ts';
import type { TwoStep } from './two-step.ts';

/**
 * Gives the admin a random password, which ends all of the admin's sessions, and answers it. The admin may do all again, and the second factor is off:
 * it may be what was lost.
 */
export async function resetAdminPassword(accounts: Pick<Accounts, 'makeAdmin'>, twoStep: Pick<TwoStep, 'cancel'>): Promise<string> {
  const password = newPassword();
  await accounts.makeAdmin(ADMIN_ID, password);
  await twoStep.cancel(ADMIN_ID);
  return password;
}
