import { AppError } from '@wharf/errors';
import { childPath, type EntryName, type VirtualPath } from '@wharf/paths';
import { EntryMap, takeEntries } from '../../../driver-contract/entry-map.ts';
import type { Located } from '../../mounts/mount-table.ts';
import type { Mount } from '../../mounts/mounts.ts';
import { type Operation, open } from './operation.ts';

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
 * @param options.seesAll also what settings of the storage leave out of listings. @param options.onEntry is called for each of the storage's own
 * @throws AppError ENTRY_NOT_FOUND | NOT_A_DIRECTORY | STORAGE_UNAVAILABLE
 */
export async function everythingIn(
  { snapshot, signal }: Operation,
  folder: WalkedFolder,
  { seesAll, onEntry }: { seesAll?: true; onEntry?: () => void } = {},
): Promise<{ entries: EntryMap; mounted: EntryName[] }> {
  const mounted = snapshot.table.virtualFolders(folder.path).map(({ name }) => name);
  if (!folder.located) return { entries: new EntryMap(), mounted };
  const { driver, path } = await open(folder.located);
  try {
    return { entries: await takeEntries(driver.list(path, { signal, seesAll }), onEntry), mounted };
  } catch (error) {
    // The storage need not have a folder that is there for its mounts.
    if (mounted.length > 0 && AppError.is(error, 'ENTRY_NOT_FOUND')) return { entries: new EntryMap(), mounted };
    if (AppError.is(error, 'NOT_A_DIRECTORY')) throw new AppError('NOT_A_DIRECTORY', 'not a folder', { cause: error });
    throw error;
  }
}
