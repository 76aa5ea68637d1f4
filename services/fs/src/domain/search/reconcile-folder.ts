import { AppError } from '@wharf/errors';
import { createPace, type Pace, unlessAborted } from '@wharf/pace';
import { baseName, childPath, type EntryName, hasRoomFor, parentPath, type VirtualPath } from '@wharf/paths';
import { takeEntries } from '../../driver-contract/entry-map.ts';
import { createLane } from '../../driver-contract/lane.ts';
import { type Entry, supports } from '../../driver-contract/storage-driver.ts';
import { isNotThere } from '../../driver-contract/storage-error.ts';
import type { Located } from '../mounts/mount-table.ts';
import type { Mount } from '../mounts/mounts.ts';
import type { FolderCache } from '../reading/folder-cache.ts';
import { getEntry } from '../reading/get-entry.ts';
import { virtualEntry } from '../reading/list-entries.ts';
import type { Folder } from '../reading/listed-entries.ts';
import type { Snapshot } from '../snapshot/snapshot.ts';
import { isGone, lookAtRoot, topmostGone } from './gone-folders.ts';
import type { IndexScope } from './index-scope.ts';
import type { ListedAhead } from './listed-ahead.ts';
import type { IndexedEntry, SearchIndex } from './search-index.ts';

/** Entries that are looked at and written at a time: what bounds the memory of a walk. */
const SLICE_ENTRIES = 1_000;

/** What a walk works with. */
export interface IndexWalk {
  readonly snapshot: Snapshot;
  readonly scope: IndexScope;
  readonly folderCache: Pick<FolderCache, 'read'>;
  readonly index: SearchIndex;
  readonly generation: number;
  /** Lists the storage itself, neither from nor into the cache of listings. */
  readonly isFresh: boolean;
  /** Of storages that tell whole trees. */
  readonly ahead: ListedAhead;
  readonly signal: AbortSignal;
}

/** Reading a folder in its storage failed, or there is no room for what is in it; what the index has of it stays. */
export class FolderUnreadable extends Error {
  readonly path: VirtualPath;
  /** The place of the storage. */
  readonly mountedAt: VirtualPath;

  constructor(path: VirtualPath, mountedAt: VirtualPath, cause: unknown) {
    super(`${path}: ${AppError.from(cause).message}`, { cause });
    this.path = path;
    this.mountedAt = mountedAt;
  }
}

/**
 * Makes the index of one folder what a listing of it shows: names that vanished go with all below them, new ones come, new folders are
 * queued. Of names that are known already only the kind is compared. A folder that is gone itself goes, with the topmost above it that is gone.
 *
 * @returns how many entries the folder has. @throws FolderUnreadable; AppError of the index
 */
export async function reconcileFolder(walk: IndexWalk, path: VirtualPath): Promise<number> {
  await putMounted(walk, path);
  const contents = await contentsOf(walk, path, true);
  if (contents !== 'long') return reconcile(walk, path, contents);
  return longFolders.run({ signal: walk.signal }, async () => {
    const all = await contentsOf(walk, path, false);
    if (all === 'long') throw new Error(`all names of ${path} were asked for`);
    return reconcile(walk, path, all);
  });
}

async function reconcile(walk: IndexWalk, path: VirtualPath, contents: Contents | undefined): Promise<number> {
  const { index, signal } = walk;
  if (!contents) return dropGone(walk, path);
  // A folder may have hundreds of thousands of names.
  const pace = createPace();
  const wanted = await kept(contents.names, pace, (each) => isWanted(walk, path, each));
  const isKnown = await removeGone(index, path, wanted, contents, pace);
  let at = 0;
  const added = await kept(wanted, pace, () => isKnown[at++] !== 1);
  for (const slice of slices(added)) {
    if (signal.aborted) break;
    const entries = await contents.entries(slice);
    // It may have gone since its names were told.
    if (entries.length < slice.length && !(await isThere(walk, path))) return dropGone(walk, path);
    await put(walk, path, entries);
  }
  return wanted.length;
}

/** What is mounted in a folder comes whatever its own storage says, and however long that takes. */
async function putMounted(walk: IndexWalk, path: VirtualPath): Promise<void> {
  const mounted = walk.snapshot.table.virtualFolders(path).filter(({ name }) => isWanted(walk, path, name));
  for (const slice of slices(mounted)) {
    await put(
      walk,
      path,
      slice.map((folder) => toIndexed(virtualEntry(folder))),
    );
  }
}

function isWanted({ scope }: IndexWalk, path: VirtualPath, name: EntryName): boolean {
  return hasRoomFor(path, name) && !scope.isLeftOut(childPath(path, name));
}

async function put({ index, generation, snapshot }: IndexWalk, path: VirtualPath, entries: readonly IndexedEntry[]): Promise<void> {
  await index.put(path, entries, generation).catch((error: unknown) => {
    // It would find none the next time either: the walk leaves it out, and says so.
    throw AppError.is(error, 'QUOTA_EXCEEDED') ? new FolderUnreadable(path, snapshot.table.locate(path)?.mountedAt ?? path, error) : error;
  });
}

/** @returns how many entries the folder has: none */
async function dropGone(walk: IndexWalk, path: VirtualPath): Promise<0> {
  const { snapshot, scope, index, signal } = walk;
  const located = snapshot.table.locate(path);
  // A storage that is left out is not asked.
  const isAsked = !located || !scope.isMountLeftOut(located.mountedAt);
  if (located && isAsked)
    await unlessAborted(signal, lookAtRoot(located, { signal })).catch((error: unknown) => {
      if (!isGone(error)) throw new FolderUnreadable(path, located.mountedAt, error);
    });
  const gone = isAsked ? await topmostGone(path, (folder) => isThere(walk, folder)) : path;
  const name = baseName(gone);
  if (name !== undefined) await index.remove(parentPath(gone), [name]);
  return 0;
}

async function isThere({ snapshot, signal }: IndexWalk, path: VirtualPath): Promise<boolean> {
  try {
    await unlessAborted(signal, getEntry(snapshot, path, { signal }));
    return true;
  } catch (error) {
    if (isGone(error)) return false;
    throw new FolderUnreadable(path, snapshot.table.locate(path)?.mountedAt ?? path, error);
  }
}

/** @returns of each wanted name whether the index has it, as what it is: 1 */
async function removeGone(
  index: SearchIndex,
  path: VirtualPath,
  wanted: readonly EntryName[],
  contents: Contents,
  pace: Pace,
): Promise<Uint8Array> {
  const isKnown = new Uint8Array(wanted.length);
  const placeOf = new Map<EntryName, number>();
  for (const [place, name] of wanted.entries()) {
    placeOf.set(name, place);
    if (place % SLICE_ENTRIES === 0) await pace.step();
  }
  for (let after: EntryName | undefined; ; ) {
    const known = await index.children(path, after);
    if (known.size === 0) return isKnown;
    const gone: EntryName[] = [];
    for (const [name, isDirectory] of known) {
      const place = placeOf.get(name);
      if (place === undefined) gone.push(name);
      else if (isDirectory === contents.isDirectory(name)) isKnown[place] = 1;
      after = name;
    }
    for (const slice of slices(gone)) await index.remove(path, slice);
  }
}

/** Of a long folder all names are held several times: one is looked at at a time. */
const longFolders = createLane({ size: 1, share: 1 });

interface Contents {
  readonly names: readonly EntryName[];
  isDirectory(name: EntryName): boolean;
  entries(names: readonly EntryName[]): Promise<IndexedEntry[]>;
}

/** The storage's entries and the folders that mounts make; undefined when there is no such folder. */
async function contentsOf(
  { snapshot, scope, folderCache, isFresh, ahead, signal }: IndexWalk,
  path: VirtualPath,
  onlyShort: boolean,
): Promise<Contents | 'long' | undefined> {
  const located = snapshot.table.locate(path);
  const virtual = new Map(snapshot.table.virtualFolders(path).map((folder) => [folder.name, virtualEntry(folder)]));
  const attempt = async <Result>(read: () => Promise<Result>): Promise<Result | undefined> => {
    try {
      // Not every storage reacts, and some are only being opened.
      return await unlessAborted(signal, read());
    } catch (error) {
      if (isNotThere(error)) return undefined;
      throw new FolderUnreadable(path, located?.mountedAt ?? path, error);
    }
  };
  let folder: Folder | 'long' | undefined;
  if (located && !scope.isMountLeftOut(located.mountedAt))
    folder = await attempt(() =>
      isFresh ? readOnce(located, ahead, signal, onlyShort) : folderCache.read(located, { refresh: false, signal }),
    );
  if (folder === 'long') return folder;
  if (!folder && virtual.size === 0 && path !== '/') return undefined;
  const own = (folder?.names ?? []).filter((name) => !virtual.has(name));
  return {
    names: [...own, ...virtual.keys()],
    isDirectory: (name) => virtual.has(name) || folder?.isDirectory(name) === true,
    async entries(names) {
      const listed = names.filter((name) => !virtual.has(name));
      const found = folder && listed.length > 0 ? ((await attempt(async () => folder.entries(listed, signal))) ?? []) : [];
      return [...found, ...names.flatMap((name) => virtual.get(name) ?? [])].map(toIndexed);
    },
  };
}

/**
 * A folder as its storage has it now. The listing is not cached: a walk through the whole tree would push out the folders that people look
 * at.
 */
async function readOnce(
  { mount, path }: Located<Mount>,
  ahead: ListedAhead,
  signal: AbortSignal,
  onlyShort: boolean,
): Promise<Folder | 'long'> {
  const driver = await mount.driver();
  if (supports(driver, 'listNames') && supports(driver, 'statMany')) {
    const listing = await driver.listNames(path, undefined, { signal, onlyShort: onlyShort || undefined });
    if (listing?.longLetters !== undefined) return 'long';
    if (listing) {
      const { names, directories } = listing;
      return {
        names,
        isDirectory: (name) => directories.has(name),
        entries: (wanted, pageSignal) => driver.statMany(path, wanted, { signal: pageSignal }),
      };
    }
  }
  const entries = await takeEntries((await ahead.take(driver, path, signal)) ?? driver.list(path, { signal }));
  return {
    names: await entries.names(createPace(signal)),
    isDirectory: (name) => entries.isDirectory(name),
    entries: async (wanted) => wanted.flatMap((name) => entries.get(name) ?? []),
  };
}

/** What the index keeps of an entry. A link is not entered: it could be a circle. */
export function toIndexed({ name, isDirectory, sizeBytes, isLink }: Entry): IndexedEntry {
  return { name, isDirectory, sizeBytes: sizeBytes ?? 0, ...(isLink ? { isLink } : {}) };
}

/** What a filter keeps; others have their turn in between. */
async function kept<Item>(items: Iterable<Item>, pace: Pace, isKept: (item: Item) => boolean): Promise<Item[]> {
  const found: Item[] = [];
  for (const item of items) {
    if (isKept(item)) found.push(item);
    await pace.step();
  }
  return found;
}

function* slices<Item>(items: readonly Item[]): Generator<Item[]> {
  for (let start = 0; start < items.length; start += SLICE_ENTRIES) yield items.slice(start, start + SLICE_ENTRIES);
}
