import type * as wire from '@wharf/proto/auth';

/** What an administrator made of a user, for the audit trail: no password, only whether there is one. */
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
