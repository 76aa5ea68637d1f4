import { AppError } from '@wharf/errors';
import type * as wire from '@wharf/proto/auth';
import type { User } from '../domain/user.ts';

/** A user as clients see it: no password, hash or secret. */
export function toWireUser(user: User): wire.User {
  return {
    id: user.id,
    username: user.username,
    password: '',
    base_path: user.basePath,
    role: user.role,
    disabled: user.disabled,
    permission: user.permission,
    sso_id: user.ssoId,
    otp: user.otpSecret !== '',
    allow_ldap: user.allowLdap,
    quota_bytes: user.quotaBytes,
    chose_name: user.choseName,
  };
}

/** The user of a request. @throws AppError INVALID_ARGUMENT: there is none */
export function userIn(request: { user: wire.User | null }): wire.User {
  if (!request.user) throw new AppError('INVALID_ARGUMENT', 'user is required');
  return request.user;
}
