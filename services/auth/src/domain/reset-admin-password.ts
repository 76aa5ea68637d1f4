import type { Accounts } from './accounts.ts';
import { ADMIN_ID, newPassword } from './first-start.ts';
import type { TwoStep } from './two-step.ts';

/** Gives the admin a random password, which ends all of the admin's sessions, and answers it. The second factor is off then: it may be what was lost. */
export async function resetAdminPassword(
  accounts: Pick<Accounts, 'get' | 'updateSelf'>,
  twoStep: Pick<TwoStep, 'cancel'>,
): Promise<string> {
  const { username, ssoId } = await accounts.get(ADMIN_ID);
  const password = newPassword();
  await accounts.updateSelf(ADMIN_ID, { username, password, sso_id: ssoId });
  await twoStep.cancel(ADMIN_ID);
  return password;
}
