import { AppError } from '@wharf/errors';
import { type EntryName, parentPath, ROOT_NAME, type VirtualPath } from '@wharf/paths';
import type { Entry } from '../driver-contract/storage-driver.ts';
import type { FolderReader } from './folder-reader.ts';
import { virtualEntry } from './list-entries.ts';
import type { Located } from './mount-table.ts';
import type { Mount } from './mounts.ts';
import type { Actor } from './permissions.ts';
import { locate, type Tree } from './tree.ts';

/** One entry of the tree and the storage that holds it; no storage for a folder that mounts make. */
export interface Found {
  readonly entry: Entry;
  readonly located: Located<Mount> | undefined;
}

/** The family's zero time, which it gives to a root that no storage dates. */
const ZERO_TIME = new Date('0001-01-01T00:00:00Z');

/** Finds what is at a path. A folder that mounts make comes before what its storage may have there. @throws AppError ENTRY_NOT_FOUND | MOUNT_NOT_FOUND */
export async function getEntry(tree: Tree, path: VirtualPath, signal?: AbortSignal): Promise<Found> {
  const virtual = mountedEntry(tree, path);
  if (virtual) return virtual;
  const located = locate(tree, path);
  const driver = await located.mount.driver();
  try {
    return { entry: await driver.stat(located.path, { signal }), located };
  } catch (error) {
    // Nothing can be below a file, so what a client asks for there does not exist.
    if (AppError.is(error, 'NOT_A_DIRECTORY')) throw new AppError('ENTRY_NOT_FOUND', 'object not found', { cause: error });
    throw error;
  }
}

/** The same in a storage that was chosen before; undefined when nothing is there. */
export async function findEntry(
  tree: Tree,
  path: VirtualPath,
  located: Located<Mount>,
  signal: AbortSignal | undefined,
): Promise<Entry | undefined> {
  const virtual = mountedEntry(tree, path);
  if (virtual) return virtual.entry;
  const driver = await located.mount.driver();
  try {
    return await driver.stat(located.path, { signal });
  } catch (error) {
    if (AppError.is(error, 'ENTRY_NOT_FOUND') || AppError.is(error, 'NOT_A_DIRECTORY')) return undefined;
    throw error;
  }
}

/** The root, or a folder that mounts make. */
function mountedEntry(tree: Tree, path: VirtualPath): Found | undefined {
  const virtual = tree.table.findVirtualFolder(path);
  if (!virtual && path !== '/') return undefined;
  const located = tree.table.locate(path);
  const root = { name: ROOT_NAME, modifiedAt: located?.mount.storage.modified ?? ZERO_TIME };
  return { entry: virtualEntry(virtual ?? root), located };
}

/** Files beside `name` that begin with its stem (the name without its last extension), as far as `actor` may see them. */
export async function relatedEntries(
  tree: Tree,
  reader: FolderReader,
  actor: Actor,
  path: VirtualPath,
  found: Found & { located: Located<Mount> },
  signal: AbortSignal | undefined,
): Promise<readonly Entry[]> {
  const { name } = found.entry;
  const dot = name.lastIndexOf('.');
  const stem = dot === -1 ? name : name.slice(0, dot);
  const parent = parentPath(path);
  const isVisible = tree.rules.listingFilter(actor, parent);
  const folder = await reader.read({ ...found.located, path: parentPath(found.located.path) }, { refresh: false, signal });
  const isRelated = (other: EntryName) =>
    other.startsWith(stem) && other !== name && (!isVisible || isVisible(other, folder.isDirectory(other)));
  const names = folder.names.filter(isRelated);
  return names.length === 0 ? [] : folder.entries(names, signal);
}
