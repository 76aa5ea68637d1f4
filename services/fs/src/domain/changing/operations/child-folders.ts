import { AppError } from '@wharf/errors';
import { childPath, type EntryName, type VirtualPath } from '@wharf/paths';
import { EntryMap, takeEntries } from '../../../driver-contract/entry-map.ts';
import type { Located } from '../../mounts/mount-table.ts';
import type { Mount } from '../../mounts/mounts.ts';
import { callOf, type Operation, open } from './operation.ts';
import { PLAN_BYTES, type PlanShare } from './plan-room.ts';

/** A folder on a walk through the tree. */
export interface WalkedFolder {
  readonly path: VirtualPath;
  /** Undefined for one that only mounts make. */
  readonly located: Located<Mount> | undefined;
}

/** A folder in another: in the storage of that one, or in one that is mounted there. */
export function childFolder({ snapshot }: Operation, parent: WalkedFolder, name: EntryName): WalkedFolder {
  const path = childPath(parent.path, name);
  return { path, located: snapshot.table.locate(path, parent.located) };
}

/**
 * Everything in a folder, whoever may see it: the storage's own entries, and the names of folders that mounts make there.
 *
 * @param options.seesAll also what settings of the storage leave out of listings. @param options.share the room for what is listed: absent, it is not counted
 * @returns bytes: what was taken of the share, to be left when the entries are done with
 * @throws AppError ENTRY_NOT_FOUND | NOT_A_DIRECTORY | STORAGE_UNAVAILABLE
 */
export async function everythingIn(
  operation: Operation,
  folder: WalkedFolder,
  { seesAll, share }: { seesAll?: true; share?: PlanShare | undefined } = {},
): Promise<{ entries: EntryMap; mounted: EntryName[]; bytes: number }> {
  const mounted = operation.snapshot.table.virtualFolders(folder.path).map(({ name }) => name);
  let bytes = 0;
  const take = (more: number) => {
    bytes += more;
    share?.take(more);
  };
  if (!folder.located) return { entries: new EntryMap(), mounted, bytes };
  const { driver, path } = await open(folder.located);
  try {
    const listing = driver.list(path, { ...callOf(operation), seesAll, beforeNames: share && take });
    return { entries: await takeEntries(listing, ({ name }) => take(PLAN_BYTES.sorted(name.length))), mounted, bytes };
  } catch (error) {
    // The storage need not have a folder that is there for its mounts.
    if (mounted.length > 0 && AppError.is(error, 'ENTRY_NOT_FOUND')) return { entries: new EntryMap(), mounted, bytes };
    if (AppError.is(error, 'NOT_A_DIRECTORY')) throw new AppError('NOT_A_DIRECTORY', 'not a folder', { cause: error });
    throw error;
  }
}
