import type { AppError } from '@wharf/errors';
import type { VirtualPath } from '@wharf/paths';
import { hasPermission, type PermissionName, type Rights } from '@wharf/rights';
import { ownRefusal } from './own-refusal.ts';

/** Whoever an operation is done for. */
export interface Actor extends Rights {
  readonly id: number;
  /** The root of what the actor sees. */
  readonly basePath: VirtualPath;
}

/** @throws AppError PERMISSION_DENIED */
export function requirePermission(actor: Actor, name: PermissionName): void {
  if (!hasPermission(actor, name)) throw denied();
}

export function denied(): AppError {
  return ownRefusal('PERMISSION_DENIED', 'permission denied');
}
