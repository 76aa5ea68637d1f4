import { isWithin, type VirtualPath } from '@wharf/paths';
import { denied } from '../../access/permissions.ts';
import type { Operation } from './operation.ts';

/** After so long within one call, in milliseconds, its login, rights and rules are asked for again. */
const RENEW_MS = 2_000;

/** Asked before each step of a change. Rejects with PERMISSION_DENIED | UNAUTHENTICATED. */
export type RightsOfNow = () => Promise<Operation>;

/**
 * A change of many entries, as it is now: a storage may take an hour for all of them, and whoever is disabled on the way, or may no more, goes on for a moment
 * only. The operation itself is answered as long as it is young.
 *
 * @param paths where it changes something: the caller's root may be another one by then
 */
export function rightsOfNow(operation: Operation, paths: readonly VirtualPath[]): RightsOfNow {
  let [known, askedAtMs] = [operation, performance.now()];
  return async () => {
    if (!operation.renewed || performance.now() - askedAtMs < RENEW_MS) return known;
    const now = await operation.renewed();
    if (!paths.every((path) => isWithin(now.actor.basePath, path))) throw denied();
    [known, askedAtMs] = [now, performance.now()];
    return known;
  };
}

/** Whether what is in a folder is looked through once more: only other rules, or other rights, can say something else. */
export function mayHideMore({ snapshot, actor }: Operation, before: Operation): boolean {
  const { role, permission, basePath } = before.actor;
  return snapshot.rules !== before.snapshot.rules || actor.role !== role || actor.permission !== permission || actor.basePath !== basePath;
}
