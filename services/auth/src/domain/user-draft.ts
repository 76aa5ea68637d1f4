import { AppError } from '@wharf/errors';
import { parseVirtualPath } from '@wharf/paths';
import { ALL_PERMISSIONS, ROLE } from '@wharf/rights';
import { checkedPassword } from './passwords.ts';
import type { User } from './user.ts';
import { parseUsername } from './username.ts';

/** An account as the admin sends it. The names of its fields are those that existing clients use. */
export interface UserInput {
  readonly username: string;
  readonly password: string;
  readonly base_path: string;
  readonly role: number;
  readonly disabled: boolean;
  readonly permission: number;
  readonly sso_id: string;
  readonly allow_ldap: boolean;
  /** Absent: as it is; none for a new account. */
  readonly quota_bytes?: number | null | undefined;
}

/** The parts of an account that the admin sets, checked. */
export type UserDraft = Pick<User, 'username' | 'usernameKey' | 'basePath' | 'role' | 'permission' | 'disabled' | 'ssoId' | 'allowLdap'> & {
  /** Empty: none, or the one there is. */
  readonly password: string;
  /** Absent: as it is. */
  readonly quotaBytes?: number;
};

/** What somebody sends of their own account. */
export type OwnInput = Pick<UserInput, 'username' | 'password' | 'sso_id'>;
type OwnDraft = Pick<UserDraft, 'username' | 'usernameKey' | 'ssoId' | 'password'>;

const MAX_SSO_ID_LENGTH = 255;

/** @throws AppError INVALID_ARGUMENT | UNSAFE_PATH */
export function parseUserDraft(input: UserInput): UserDraft {
  const { role, permission, quota_bytes } = input;
  if (!Number.isInteger(permission) || permission < 0 || permission > ALL_PERMISSIONS)
    throw new AppError('INVALID_ARGUMENT', `permission must be from 0 to ${ALL_PERMISSIONS}`);
  const hasQuota = quota_bytes !== undefined && quota_bytes !== null;
  if (hasQuota && !(Number.isSafeInteger(quota_bytes) && quota_bytes >= 0))
    throw new AppError('INVALID_ARGUMENT', 'quota_bytes must be a number of bytes, or 0 for none');
  return {
    ...parseOwnDraft(input),
    ...(hasQuota ? { quotaBytes: quota_bytes } : {}),
    basePath: parseVirtualPath(input.base_path),
    role,
    permission: role === ROLE.admin ? ALL_PERMISSIONS : permission,
    disabled: input.disabled,
    allowLdap: input.allow_ldap,
  };
}

/** The parts of an account that its user decides about, checked. @throws AppError INVALID_ARGUMENT */
export function parseOwnDraft(input: OwnInput): OwnDraft {
  if (input.sso_id.length > MAX_SSO_ID_LENGTH)
    throw new AppError('INVALID_ARGUMENT', `sso_id must not be longer than ${MAX_SSO_ID_LENGTH} characters`);
  return { ...parseUsername(input.username), password: checkedPassword(input.password), ssoId: input.sso_id };
}
