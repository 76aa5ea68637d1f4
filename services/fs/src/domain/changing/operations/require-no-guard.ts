import { AppError } from '@wharf/errors';
import type { VirtualPath } from '@wharf/paths';
import { isAdmin } from '@wharf/rights';
import { denied } from '../../access/permissions.ts';
import type { Operation } from './operation.ts';

/**
 * What a rule guards keeps its place: under another path the rule would guard it no more. The admin is told which rule it is, so as to
 * change it first.
 *
 * @throws AppError PERMISSION_DENIED; FAILED_PRECONDITION for the admin
 */
export function requireNoGuard({ snapshot, actor }: Operation, path: VirtualPath): void {
  const guard = snapshot.rules.findGuard(path);
  if (guard === undefined) return;
  if (!isAdmin(actor)) throw denied();
  throw new AppError('FAILED_PRECONDITION', `the path rule at ${guard} would guard nothing any more: change it first`);
}
