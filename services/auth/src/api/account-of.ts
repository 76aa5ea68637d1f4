import { AppError } from '@wharf/errors';
import { ROLE } from '@wharf/rights';
import { type Call, type UserIdentity, userOf } from '@wharf/service-kit';

/** The error text when the guest asks for app passwords. */
export const NO_APP_PASSWORDS = 'Guest user can not have app passwords';

/** The caller, who has an account. @throws AppError PERMISSION_DENIED: the caller is the guest | UNAUTHENTICATED: nobody, or a service */
export function accountOf(call: Call, refusal: string): UserIdentity {
  const user = userOf(call);
  if (user.role === ROLE.guest) throw new AppError('PERMISSION_DENIED', refusal);
  return user;
}

/** The caller, who may have SSH keys. For the guest, clients expect a 401. @throws AppError UNAUTHENTICATED */
export function keyOwner(call: Call): UserIdentity {
  const user = userOf(call);
  if (user.role === ROLE.guest) throw new AppError('UNAUTHENTICATED', 'user invalid');
  return user;
}
