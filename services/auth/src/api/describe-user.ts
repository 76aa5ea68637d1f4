import type * as wire from '@wharf/proto/auth';

/** A user as the admin saved it, for the audit trail. It says whether there is a password, not which. */
export function describeUser({ user }: { user: wire.User | null }): { target: string; detail: string } {
  if (!user) return { target: '', detail: '' };
  const { username, role, permission, disabled, base_path } = user;
  const password = user.password === '' ? '' : ', new password';
  const state = disabled ? 'disabled' : 'enabled';
  return {
    target: `user ${username}`,
    detail: `role ${role}, permission ${permission}, ${state}, base_path ${base_path || '/'}${password}`,
  };
}
