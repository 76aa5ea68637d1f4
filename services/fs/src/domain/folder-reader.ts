import { LRUCache } from 'lru-cache';
import type { EntryName, MountPath, VirtualPath } from '../driver-contract/paths.ts';
import { isWithin } from '../driver-contract/paths.ts';
import { type Entry, type StorageDriver, supports } from '../driver-contract/storage-driver.ts';
import type { Located } from './mount-table.ts';
import type { Mount } from './mounts.ts';
import { type EntryOrder, sortEntries, sortNamesBy } from './sort-entries.ts';

/** The entries of one folder of a storage in the order of its listing; looked at only as far as somebody asks. */
export interface Folder {
  readonly names: readonly EntryName[];
  isDirectory(name: EntryName): boolean;
  /** In the order of the names given; what is gone meanwhile is left out. */
  entries(names: readonly EntryName[]): Promise<Entry[]>;
}

/** Reads folders, and keeps what it may keep of them. */
export interface FolderReader {
  /** @param located.mount whose storage says how to sort and how long to keep. @throws what the driver's `list` throws */
  read(located: Located<Mount>, options: { refresh: boolean; signal: AbortSignal | undefined }): Promise<Folder>;
  /** Forgets a folder of the tree, and with `below` everything under it. */
  forget(path: VirtualPath, below: boolean): void;
  /** Forgets everything that is kept of a storage. */
  forgetStorage(id: number): void;
}

/** All folders together keep at most this many entries (about 200 bytes each). */
const MAX_KEPT_ENTRIES = 400_000;
const MS_PER_MINUTE = 60_000;

interface KeptNames {
  readonly version: string;
  readonly folder: Folder;
  readonly order: string;
}

interface KeptEntries {
  readonly entries: readonly Entry[];
  readonly expiresAt: number;
}

export function createFolderReader(clock: () => number): FolderReader {
  const kept = new LRUCache<string, KeptNames | KeptEntries>({
    maxSize: MAX_KEPT_ENTRIES,
    sizeCalculation: (value) => 1 + ('entries' in value ? value.entries.length : value.folder.names.length),
  });
  const loading = new Map<string, Promise<readonly Entry[]>>();
  let generation = 0;

  /** Names under their version: a page of a big folder costs a look at the folder and at the entries of the page. */
  const readNames = async (
    key: string,
    located: Located<Mount>,
    driver: NamesDriver,
    order: EntryOrder,
    signal: AbortSignal | undefined,
  ) => {
    const known = kept.get(key);
    const usable = known && 'version' in known && known.order === orderKey(order) ? known : undefined;
    const listing = await driver.listNames(located.path, usable?.version, { signal });
    if (listing === undefined && usable) return usable.folder;
    const fresh = listing ?? (await driver.listNames(located.path, undefined, { signal }));
    if (!fresh) throw new Error('a driver answered no names without a version to compare');
    const folder: Folder = {
      names: sortNamesBy(order, fresh.names, (name) => fresh.directories.has(name)),
      isDirectory: (name) => fresh.directories.has(name),
      entries: (names) => driver.statMany(located.path, names, {}),
    };
    if (fresh.version !== undefined) kept.set(key, { version: fresh.version, folder, order: orderKey(order) });
    return folder;
  };

  const readEntries = (key: string, located: Located<Mount>, driver: StorageDriver, refresh: boolean): Promise<readonly Entry[]> => {
    const known = kept.get(key);
    if (!refresh && known && 'entries' in known && known.expiresAt > clock()) return Promise.resolve(known.entries);
    const underWay = loading.get(key);
    if (underWay) return underWay;
    const startedIn = generation;
    const load = (async () => {
      const entries: Entry[] = [];
      for await (const entry of driver.list(located.path)) entries.push(entry);
      const minutes = located.mount.definition.config.no_cache ? 0 : located.mount.storage.cache_expiration;
      // An empty folder is never kept; nor is what was read while something changed.
      if (minutes > 0 && entries.length > 0 && generation === startedIn)
        kept.set(key, { entries, expiresAt: clock() + minutes * MS_PER_MINUTE });
      else kept.delete(key);
      return entries;
    })().finally(() => loading.delete(key));
    loading.set(key, load);
    return load;
  };

  return {
    async read(located, { refresh, signal }) {
      const driver = await located.mount.driver();
      const order = orderOf(located.mount);
      const key = keyOf(located);
      if (hasNames(driver) && (order.by === '' || order.by === 'name')) return readNames(key, located, driver, order, signal);
      return folderOf(sortEntries(order, await readEntries(key, located, driver, refresh)));
    },
    forget(path, below) {
      generation += 1;
      for (const key of kept.keys()) {
        const place = key.slice(key.indexOf(' ') + 1) as VirtualPath;
        if (place === path || (below && isWithin(path, place))) kept.delete(key);
      }
    },
    forgetStorage(id) {
      generation += 1;
      for (const key of kept.keys()) if (key.startsWith(`${id} `)) kept.delete(key);
    },
  };
}

type NamesDriver = StorageDriver & Required<Pick<StorageDriver, 'listNames' | 'statMany'>>;

function hasNames(driver: StorageDriver): driver is NamesDriver {
  return supports(driver, 'listNames') && supports(driver, 'statMany');
}

function folderOf(entries: readonly Entry[]): Folder {
  const byName = new Map(entries.map((entry) => [entry.name, entry]));
  return {
    names: entries.map((entry) => entry.name),
    isDirectory: (name) => byName.get(name)?.isDirectory ?? false,
    entries: async (names) => names.flatMap((name) => byName.get(name) ?? []),
  };
}

/** The family sorts only where the driver leaves it to the server. */
function orderOf({ storage, definition }: Mount): EntryOrder {
  const isSorted = definition.config.local_sort;
  return {
    by: isSorted ? storage.order_by : '',
    isDescending: isSorted && storage.order_direction === 'desc',
    folders: storage.extract_folder,
  };
}

function orderKey(order: EntryOrder): string {
  return `${order.by} ${order.isDescending} ${order.folders}`;
}

/** The storage and the place in the whole tree. */
function keyOf(located: { mount: Mount; mountedAt: VirtualPath; path: MountPath }): string {
  const { mount, mountedAt, path } = located;
  const place = path === '/' ? mountedAt : mountedAt === '/' ? path : mountedAt + path;
  return `${mount.storage._id} ${place}`;
}
