import { AppError } from '@wharf/errors';
import { boundsOf, createPace, type Slice } from '@wharf/pace';
import type { EntryName, VirtualPath } from '@wharf/paths';
import type { Entry } from '../../driver-contract/storage-driver.ts';
import type { Actor } from '../access/permissions.ts';
import type { Located, VirtualFolder } from '../mounts/mount-table.ts';
import type { Mount } from '../mounts/mounts.ts';
import { locate, type Snapshot } from '../snapshot/snapshot.ts';
import type { RoomOfListing } from './entry-room.ts';
import type { FolderCache, ReadFolderOptions } from './folder-cache.ts';
import type { Folder } from './listed-entries.ts';

/** One page of a folder of the tree. */
export interface ListingPage {
  /** Empty where the caller has them. */
  readonly entries: readonly Entry[];
  /** As in `Folder`, where the page is all of one, and nothing else. */
  readonly whole: object | undefined;
  /** Entries of all pages. */
  readonly total: number;
  /** The storage that holds the folder; undefined for one that only mounts make. */
  readonly located: Located<Mount> | undefined;
}

export interface ListOptions {
  readonly slice: Slice;
  readonly refresh: boolean;
  readonly onlyFolders?: boolean;
  readonly signal?: AbortSignal;
  /** Takes the names of the folder, and the entries that are about to be read; what it throws ends the listing. */
  readonly room?: RoomOfListing;
  /** Asked whether the caller has what it was given before for all of a folder. */
  readonly has?: (whole: object, mount: Mount) => boolean;
}

/**
 * A page of what `actor` may see in a folder: the storage's entries in their order, then the folders that mounts make. Access to the
 * folder itself has been checked.
 *
 * @throws AppError MOUNT_NOT_FOUND | ENTRY_NOT_FOUND | NOT_A_DIRECTORY | STORAGE_UNAVAILABLE
 */
export async function listEntries(
  snapshot: Snapshot,
  folderCache: FolderCache,
  actor: Actor,
  path: VirtualPath,
  options: ListOptions,
): Promise<ListingPage> {
  try {
    return await listOnce(snapshot, folderCache, actor, path, options, !options.refresh);
  } catch (error) {
    // What was kept of the folder holds no more.
    if (!AppError.is(error, 'STALE_VERSION')) throw error;
    return listOnce(snapshot, folderCache, actor, path, options, false);
  }
}

/** @param isProvisional relies on kept names until the entries of the page are looked at. */
async function listOnce(
  snapshot: Snapshot,
  folderCache: FolderCache,
  actor: Actor,
  path: VirtualPath,
  options: ListOptions,
  isProvisional: boolean,
): Promise<ListingPage> {
  const mounted = snapshot.table.virtualFolders(path);
  const read = await readFolder(
    snapshot,
    folderCache,
    path,
    {
      ...{ refresh: options.refresh, signal: options.signal, isProvisional, caller: options.room?.caller ?? `user ${actor.id}` },
      beforeNames: (letters) => options.room?.take(0, letters),
    },
    mounted.length > 0,
  );
  const folder = read?.folder;
  if (folder) options.room?.hold(folder.names);

  const isVisible = snapshot.rules.listingFilter(actor, path, folder?.names);
  const virtual = isVisible ? mounted.filter(({ name }) => isVisible(name, true)) : mounted;
  let names = folder?.names ?? [];
  if (folder && (isVisible || options.onlyFolders))
    names = await filterNames(names, options.signal, (name, index) => {
      const isDirectory = folder.isDirectory(name);
      return (isDirectory || !options.onlyFolders) && (!isVisible || isVisible(name, isDirectory, index));
    });
  const added = virtual.length > 0 ? await missingIn(names, virtual, options.signal) : [];

  const total = names.length + added.length;
  const { start, end } = boundsOf(options.slice, total);
  const isWhole = start === 0 && end >= names.length;
  const wanted = isWhole ? names : names.slice(start, end);
  const tail = added.slice(Math.max(0, start - names.length), Math.max(0, end - names.length));
  const whole = wanted === folder?.names && tail.length === 0 ? folder.whole : undefined;
  if (read && whole && options.has?.(whole, read.located.mount)) return { entries: [], whole, total, located: read.located };
  options.room?.take(
    wanted.length,
    wanted.reduce((sum, { length }) => sum + length, 0),
  );
  const entries = folder && (wanted.length > 0 || isProvisional) ? await folder.entries(wanted, options.signal) : [];
  return {
    whole,
    entries: tail.length === 0 ? entries : [...entries, ...tail.map((each) => virtualEntry(each))],
    total,
    located: read?.located,
  };
}

async function filterNames(names: readonly EntryName[], signal: AbortSignal | undefined, isKept: Kept) {
  const kept: EntryName[] = [];
  await throughNames(names, signal, (name, index) => {
    if (isKept(name, index)) kept.push(name);
  });
  return kept;
}

type Kept = (name: EntryName, index: number) => boolean;

/** Those of the few folders that mounts make whose names are not among the many of a storage. */
async function missingIn(names: readonly EntryName[], virtual: readonly VirtualFolder[], signal: AbortSignal | undefined) {
  const missing = new Map(virtual.map((folder) => [folder.name, folder]));
  await throughNames(names, signal, (name) => missing.delete(name) && missing.size === 0);
  return [...missing.values()];
}

/**
 * Looks at the names of a folder, which may be hundreds of thousands, and leaves room for other requests in between: a pattern of a rule may cost a good part
 * of a millisecond for each.
 *
 * @param look true: it has seen enough. @throws AppError CANCELLED
 */
export async function throughNames(
  names: readonly EntryName[],
  signal: AbortSignal | undefined,
  look: (name: EntryName, index: number) => boolean | undefined,
): Promise<void> {
  const pace = createPace(signal);
  let index = 0;
  for (const name of names) {
    if (look(name, index)) return;
    index += 1;
    if (index % 16 === 0) await pace.step();
  }
}

/** The folder's contents in its storage; undefined when only mounts make the folder. */
async function readFolder(
  snapshot: Snapshot,
  folderCache: FolderCache,
  path: VirtualPath,
  options: ReadFolderOptions,
  hasVirtualFolders: boolean,
): Promise<{ folder: Folder; located: Located<Mount> } | undefined> {
  try {
    const located = locate(snapshot, path);
    return { located, folder: await folderCache.read(located, options) };
  } catch (error) {
    // Mounts below a folder that its storage does not have, or cannot show now, can be reached all the same.
    if (hasVirtualFolders && AppError.is(error)) return undefined;
    throw asListError(error);
  }
}

/** A folder that is there because something is mounted at it or below it. */
export function virtualEntry(folder: { name: EntryName; modifiedAt: Date }): Entry {
  return { name: folder.name, isDirectory: true, sizeBytes: 0, modifiedAt: folder.modifiedAt };
}

/** The family's texts for a listing that failed. */
function asListError(error: unknown): unknown {
  if (AppError.is(error, 'ENTRY_NOT_FOUND'))
    return new AppError('ENTRY_NOT_FOUND', 'failed get objs: failed get dir: object not found', { cause: error });
  if (AppError.is(error, 'NOT_A_DIRECTORY')) return new AppError('NOT_A_DIRECTORY', 'failed get objs: not a folder', { cause: error });
  return error;
}
