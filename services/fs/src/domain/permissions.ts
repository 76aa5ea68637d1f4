import { AppError } from '@wharf/errors';
import type { VirtualPath } from '@wharf/paths';
import type { ROLE } from '@wharf/service-kit';

/** The permission bits that fs asks for; all sixteen are in docs/permissions.md. */
export const PERMISSION = { seeHidden: 0, skipPassword: 1, write: 3, rename: 4, move: 5, copy: 6, remove: 7 } as const;

/** Held to the kit's by its type. */
const ADMIN_ROLE: typeof ROLE.admin = 2;

/** Whoever an operation is done for. */
export interface Actor {
  readonly id: number;
  readonly role: number;
  readonly permission: number;
  /** The root of what he sees. */
  readonly basePath: VirtualPath;
}

/** Administrators may do everything, whatever their bits say. */
export function isAdmin(actor: Actor): boolean {
  return actor.role === ADMIN_ROLE;
}

export function hasPermission(actor: Actor, bit: number): boolean {
  return isAdmin(actor) || (actor.permission & (1 << bit)) !== 0;
}

/** @throws AppError PERMISSION_DENIED */
export function requirePermission(actor: Actor, bit: number): void {
  if (!hasPermission(actor, bit)) throw denied();
}

export function denied(): AppError {
  return new AppError('PERMISSION_DENIED', 'permission denied');
}
