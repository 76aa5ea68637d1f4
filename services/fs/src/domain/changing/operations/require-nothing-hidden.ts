import { AppError } from '@wharf/errors';
import { childPath, type VirtualPath } from '@wharf/paths';
import type { Entry } from '../../../driver-contract/storage-driver.ts';
import { denied } from '../../access/permissions.ts';
import type { Located } from '../../mounts/mount-table.ts';
import type { Mount } from '../../mounts/mounts.ts';
import { callerOf, callOf, type Operation, open } from './operation.ts';
import { PLAN_BYTES, PLANS, type PlanShare } from './plan-room.ts';

/** A folder with more entries is not gone through. */
const MAX_ENTRIES = 100_000;

/** An entry that is moved, copied or removed whole. */
export interface WholeEntry {
  readonly entry: Entry;
  readonly path: VirtualPath;
  readonly located: Located<Mount>;
  /** Where it is to be; undefined when it goes away. */
  readonly target?: VirtualPath;
  /** A copy within a storage holds what a link leads to. Anything else leaves that where it is. */
  readonly isCopied?: boolean;
}

/**
 * Whoever may not see hidden entries neither takes them along with a folder nor destroys them with it, nor puts entries where they would
 * be hidden: there they could replace one that the caller does not see. The folder is gone through only where a rule hides something at or below it. Nor
 * does a link get another place or name there, whatever it leads to just now: others lead through it, and what it leads to has other names as its path is another.
 *
 * @param enter the room for the look; another one is given by tests only
 * @throws AppError PERMISSION_DENIED; also for a folder that is too big to look through. FAILED_PRECONDITION | OVERLOADED: there is no room
 */
export async function requireNothingHidden(operation: Operation, whole: WholeEntry, enter = PLANS): Promise<void> {
  const { entry, path, target, isCopied } = whole;
  const isMovedLink = entry.isLink === true && !isCopied;
  if (isMovedLink ? target === undefined : !entry.isDirectory) return;
  if (!mayHide(operation, path, target)) return;
  if (isMovedLink) throw denied();
  const share = enter(callerOf(operation));
  try {
    await lookThrough(operation, whole, share);
  } finally {
    share.leave();
  }
}

/** Whether anything can be hidden in a folder, there or where it is to be. */
export function mayHide({ actor, snapshot: { rules } }: Operation, source: VirtualPath, target: VirtualPath | undefined): boolean {
  return rules.mayHideIn(actor, source) || (target !== undefined && rules.mayHideIn(actor, target));
}

/** @throws AppError PERMISSION_DENIED: something is hidden from the caller, there or where the folder is to be */
async function lookThrough(operation: Operation, whole: WholeEntry, share: PlanShare): Promise<void> {
  const { actor } = operation;
  const { rules } = operation.snapshot;
  const { driver, path } = await open(whole.located);
  const folders = [{ source: whole.path, target: whole.target, place: path }];
  let seen = 0;
  for (const { source, target, place } of folders) {
    const [here, there] = [rules.hiddenNames(actor, source), target === undefined ? undefined : rules.hiddenNames(actor, target)];
    for await (const { name, isDirectory, isLink } of driver.list(place, {
      ...callOf(operation),
      seesAll: true,
      seesBehind: true,
      beforeNames: share.take,
    })) {
      seen += 1;
      if (seen > MAX_ENTRIES)
        throw new AppError('PERMISSION_DENIED', `permission denied: a folder of more than ${MAX_ENTRIES} entries may hold hidden ones`);
      if (here?.(name) || there?.(name)) throw denied();
      if (!isDirectory || isLink) continue;
      const inner = { source: childPath(source, name), target: target && childPath(target, name), place: childPath(place, name) };
      if (!mayHide(operation, inner.source, inner.target)) continue;
      share.take(PLAN_BYTES.placed(inner.source.length, inner.target?.length ?? 0));
      folders.push(inner);
    }
  }
}
