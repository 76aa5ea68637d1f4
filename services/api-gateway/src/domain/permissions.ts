import { AppError } from '@wharf/errors';
import { ROLE, type UserIdentity } from '@wharf/service-kit';

/** The bits of a user's permission that routes ask for. */
export const PERMISSIONS = {
  offline_download: 1 << 2,
  write: 1 << 3,
  rename: 1 << 4,
  move: 1 << 5,
  copy: 1 << 6,
  delete: 1 << 7,
  read_archives: 1 << 12,
  decompress: 1 << 13,
} as const;

export type PermissionName = keyof typeof PERMISSIONS;

/** Every bit that clients know; the admin is shown with all of them, because clients test bits and never the role. */
export const ALL_PERMISSIONS = 0xffff;

/** Bits that a path rule can stand in for: whether they are needed depends on the path, so the service alone can tell. */
const GRANTED_BY_RULES: ReadonlySet<PermissionName> = new Set<PermissionName>(['write']);

/** @throws AppError PERMISSION_DENIED: the user lacks a bit that nothing else stands in for */
export function requirePermission(user: UserIdentity, needed: PermissionName | undefined): void {
  if (needed === undefined || user.role === ROLE.admin || GRANTED_BY_RULES.has(needed)) return;
  if ((user.permission & PERMISSIONS[needed]) === 0) throw new AppError('PERMISSION_DENIED', 'permission denied');
}
