import { AppError } from '@wharf/errors';
import { createPace, type Pace, unlessAborted } from '@wharf/pace';
import { baseName, childPath, type EntryName, hasRoomFor, parentPath, type VirtualPath } from '@wharf/paths';
import { takeEntries } from '../../driver-contract/entry-map.ts';
import { type Entry, supports } from '../../driver-contract/storage-driver.ts';
import type { Located } from '../mounts/mount-table.ts';
import type { Mount } from '../mounts/mounts.ts';
import type { FolderCache } from '../reading/folder-cache.ts';
import { virtualEntry } from '../reading/list-entries.ts';
import type { Folder } from '../reading/listed-entries.ts';
import type { Snapshot } from '../snapshot/snapshot.ts';
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
 * queued. Of names that are known already only the kind is compared. A folder that is gone itself goes.
 *
 * @returns how many entries the folder has. @throws FolderUnreadable; AppError of the index
 */
export async function reconcileFolder(walk: IndexWalk, path: VirtualPath): Promise<number> {
  const { index, scope, generation, signal } = walk;
  const contents = await contentsOf(walk, path);
  const name = baseName(path);
  if (!contents) {
    if (name !== undefined) await index.remove(parentPath(path), [name]);
    return 0;
  }
  // A folder may have hundreds of thousands of names.
  const pace = createPace();
  const wanted = await kept(contents.names, pace, (each) => hasRoomFor(path, each) && !scope.isLeftOut(childPath(path, each)));
  const known = await index.children(path);
  const present = new Set(wanted);
  const gone = await kept(known.keys(), pace, (each) => !present.has(each));
  for (const slice of slices(gone)) await index.remove(path, slice);
  const added = await kept(wanted, pace, (each) => known.get(each) !== contents.isDirectory(each));
  for (const slice of slices(added)) {
    if (signal.aborted) break;
    const entries = await contents.entries(slice);
    await index.put(path, entries, generation).catch((error: unknown) => {
      // It would find none the next time either: the walk leaves it out, and says so.
      throw AppError.is(error, 'QUOTA_EXCEEDED')
        ? new FolderUnreadable(path, walk.snapshot.table.locate(path)?.mountedAt ?? path, error)
        : error;
    });
  }
  return wanted.length;
}

interface Contents {
  readonly names: readonly EntryName[];
  isDirectory(name: EntryName): boolean;
  entries(names: readonly EntryName[]): Promise<IndexedEntry[]>;
}

/** The storage's entries and the folders that mounts make; undefined when there is no such folder. */
async function contentsOf(
  { snapshot, scope, folderCache, isFresh, ahead, signal }: IndexWalk,
  path: VirtualPath,
): Promise<Contents | undefined> {
  const located = snapshot.table.locate(path);
  const virtual = new Map(snapshot.table.virtualFolders(path).map((folder) => [folder.name, virtualEntry(folder)]));
  const attempt = async <Result>(read: () => Promise<Result>): Promise<Result | undefined> => {
    try {
      // Not every storage reacts, and some are only being opened.
      return await unlessAborted(signal, read());
    } catch (error) {
      if (AppError.is(error, 'ENTRY_NOT_FOUND') || AppError.is(error, 'NOT_A_DIRECTORY')) return undefined;
      throw new FolderUnreadable(path, located?.mountedAt ?? path, error);
    }
  };
  let folder: Folder | undefined;
  if (located && !scope.isMountLeftOut(located.mountedAt))
    folder = await attempt(() => (isFresh ? readOnce(located, ahead, signal) : folderCache.read(located, { refresh: false, signal })));
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
async function readOnce({ mount, path }: Located<Mount>, ahead: ListedAhead, signal: AbortSignal): Promise<Folder> {
  const driver = await mount.driver();
  if (supports(driver, 'listNames') && supports(driver, 'statMany')) {
    const listing = await driver.listNames(path, undefined, { signal });
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
