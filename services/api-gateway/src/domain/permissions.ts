import { AppError } from '@wharf/errors';
import { hasPermission, type PermissionName, type Rights } from '@wharf/rights';

/** Bits that a path rule can replace. Whether such a bit is needed depends on the path, so fs checks it. */
const GRANTED_BY_RULES: ReadonlySet<PermissionName> = new Set<PermissionName>(['write']);

/** @throws AppError PERMISSION_DENIED: the caller lacks a bit that nothing else stands in for */
export function requirePermission(caller: Rights, needed: PermissionName | undefined): void {
  if (needed === undefined || GRANTED_BY_RULES.has(needed)) return;
  if (!hasPermission(caller, needed)) throw new AppError('PERMISSION_DENIED', 'permission denied');
}
