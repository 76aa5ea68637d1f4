import { AppError } from '@wharf/errors';
import { baseName, type EntryName, parentPath, ROOT_NAME, type VirtualPath } from '@wharf/paths';
import type { CallOptions, Entry } from '../../driver-contract/storage-driver.ts';
import { isNotThere } from '../../driver-contract/storage-error.ts';
import type { Actor } from '../access/permissions.ts';
import type { Located } from '../mounts/mount-table.ts';
import type { Mount } from '../mounts/mounts.ts';
import { locate, type Snapshot } from '../snapshot/snapshot.ts';
import type { RoomOfListing } from './entry-room.ts';
import type { FolderCache } from './folder-cache.ts';
import { throughNames, virtualEntry } from './list-entries.ts';
import type { Folder } from './listed-entries.ts';

/** One entry of the tree and the storage that holds it; no storage for a folder that mounts make. */
export interface Found {
  readonly entry: Entry;
  readonly located: Located<Mount> | undefined;
}

/** The family's zero time, which it gives to a root that no storage dates. */
const ZERO_TIME = new Date('0001-01-01T00:00:00Z');

/** No more are told of one entry: a look at each costs as much as at the entry itself. */
const MAX_RELATED = 200;

/** Finds what is at a path. A folder that mounts make comes before what its storage may have there. @throws AppError ENTRY_NOT_FOUND | MOUNT_NOT_FOUND */
export async function getEntry(snapshot: Snapshot, path: VirtualPath, call?: CallOptions): Promise<Found> {
  const virtual = mountedEntry(snapshot, path);
  if (virtual) return virtual;
  const located = locate(snapshot, path);
  return { entry: await lookAt(located, call), located };
}

async function lookAt({ mount, path }: Located<Mount>, call: CallOptions | undefined): Promise<Entry> {
  const driver = await mount.driver();
  try {
    return await driver.stat(path, call);
  } catch (error) {
    // Nothing can be below a file, so what a client asks for there does not exist.
    if (AppError.is(error, 'NOT_A_DIRECTORY')) throw new AppError('ENTRY_NOT_FOUND', 'object not found', { cause: error });
    throw error;
  }
}

/**
 * The entry as the kept listing of its folder has it, else as the storage does. The listing may be as old as its storage lets it be, which is
 * what a caller who lists the folder sees too; whoever decides by an entry what to replace or remove asks the storage itself. Whether the
 * caller may see it was asked before: what is kept is the same for all.
 */
async function lookIn(folderCache: FolderCache, folder: Located<Mount>, located: Located<Mount>, call: CallOptions): Promise<Entry> {
  const name = baseName(located.path);
  const listing = name === undefined ? undefined : await folderCache.findListing(folder);
  return (name === undefined ? undefined : listing?.find(name)) ?? lookAt(located, call);
}

/** The same in a storage that was chosen before; undefined when nothing is there. */
export async function findEntry(
  snapshot: Snapshot,
  path: VirtualPath,
  located: Located<Mount>,
  call: CallOptions,
): Promise<Entry | undefined> {
  const virtual = mountedEntry(snapshot, path);
  if (virtual) return virtual.entry;
  const driver = await located.mount.driver();
  try {
    return await driver.stat(located.path, call);
  } catch (error) {
    if (isNotThere(error)) return undefined;
    throw error;
  }
}

/** The root, or a folder that mounts make. */
function mountedEntry(snapshot: Snapshot, path: VirtualPath): Found | undefined {
  const virtual = snapshot.table.findVirtualFolder(path);
  if (!virtual && path !== '/') return undefined;
  const located = snapshot.table.locate(path);
  const root = { name: ROOT_NAME, modifiedAt: located?.mount.storage.modified ?? ZERO_TIME };
  return { entry: virtualEntry(virtual ?? root), located };
}

/**
 * The same with what is related to it: what is beside it and begins with its stem (the name without its last extension), as far as `actor` may
 * see them, the first MAX_RELATED of the folder: none where `actor` may not list the folder with this password. One look at the storage is
 * enough where the names beside it are kept, and none where their entries are.
 */
export async function getWithRelated(
  snapshot: Snapshot,
  folderCache: FolderCache,
  actor: Actor,
  path: VirtualPath,
  password: string,
  signal: AbortSignal | undefined,
  room?: RoomOfListing,
): Promise<Found & { related: readonly Entry[] }> {
  const virtual = mountedEntry(snapshot, path);
  if (virtual) return { ...virtual, related: [] };
  const located = locate(snapshot, path);
  const call = { signal, caller: room?.caller ?? `user ${actor.id}` };
  // A rule of its own may open a file in a closed folder; what is beside the caller's root is not in the caller's tree.
  const beside = { ...located, path: parentPath(located.path) };
  if (path === actor.basePath || !snapshot.rules.canAccess(actor, parentPath(path), password))
    return { entry: await lookIn(folderCache, beside, located, call), located, related: [] };
  const isVisible = snapshot.rules.listingFilter(actor, parentPath(path));
  const kept = await folderCache.findKept(beside);
  const known = kept && (await lookAtKept(kept, baseName(path), isVisible, signal));
  if (known) return { ...known, located };
  const entry = await lookIn(folderCache, beside, located, call);
  try {
    const folder = await folderCache.read(beside, { ...call, refresh: false });
    room?.hold(folder.names);
    const { related: names } = await lookAround(folder, entry.name, isVisible, signal);
    return { entry, located, related: names.length === 0 ? [] : await folder.entries(names, signal) };
  } catch (error) {
    // The file is there, whatever is wrong with its folder: too many entries to be listed, or a right to files alone.
    if (!AppError.is(error) || AppError.is(error, 'CANCELLED')) throw error;
    return { entry, located, related: [] };
  }
}

type Filter = ReturnType<Snapshot['rules']['listingFilter']>;

/** Undefined for what the kept names do not have, and when they hold no more. */
async function lookAtKept(
  folder: Folder,
  name: EntryName | undefined,
  isVisible: Filter,
  signal: AbortSignal | undefined,
): Promise<{ entry: Entry; related: readonly Entry[] } | undefined> {
  if (name === undefined) return undefined;
  const { isThere, related: names } = await lookAround(folder, name, isVisible, signal);
  if (!isThere) return undefined;
  try {
    const [entry, ...related] = await folder.entries([name, ...names], signal);
    return entry?.name === name ? { entry, related } : undefined;
  } catch (error) {
    if (AppError.is(error, 'STALE_VERSION')) return undefined;
    throw error;
  }
}

/** Whether a folder has a name, and the names that are related to it. */
async function lookAround(
  folder: Folder,
  name: EntryName,
  isVisible: Filter,
  signal: AbortSignal | undefined,
): Promise<{ isThere: boolean; related: readonly EntryName[] }> {
  const dot = name.lastIndexOf('.');
  const stem = dot === -1 ? name : name.slice(0, dot);
  const related: EntryName[] = [];
  let isThere = false;
  await throughNames(folder.names, signal, (other) => {
    if (other === name) isThere = true;
    else if (related.length < MAX_RELATED && other.startsWith(stem) && (!isVisible || isVisible(other, folder.isDirectory(other))))
      related.push(other);
    return isThere && related.length === MAX_RELATED;
  });
  return { isThere, related };
}
