import { AppError } from '@wharf/errors';
import { createPace, isYounger } from '@wharf/pace';
import { type EntryName, type MountPath, parentPath, type VirtualPath } from '@wharf/paths';
import { createLane, type Lane } from '../../driver-contract/lane.ts';
import { listInTurn, throughLongFolder } from '../../driver-contract/long-listings.ts';
import { type CallOptions, type Entry, type NameListing, type StorageDriver, supports } from '../../driver-contract/storage-driver.ts';
import { isNotThere } from '../../driver-contract/storage-error.ts';
import { whileWanted } from '../../driver-contract/while-wanted.ts';
import type { Located } from '../mounts/mount-table.ts';
import type { Mount } from '../mounts/mounts.ts';
import { cacheMinutes } from './cache-policy.ts';
import { createKeptFolders, type KeptFolders, type KeptNames, treePathOf } from './kept-folders.ts';
import { type Folder, type ListedEntries, orderKey, readListedEntries } from './listed-entries.ts';
import { type EntryOrder, sortNamesBy } from './sort-entries.ts';

export interface ReadFolderOptions {
  readonly refresh: boolean;
  readonly signal: AbortSignal | undefined;
  readonly isProvisional?: boolean;
  /** Who has no more than a share of the turns with long folders. Absent: Wharf itself. */
  readonly caller?: string | undefined;
  /** Told of a long folder of this machine how many letters its names have together, about, before they are read; may refuse. */
  readonly beforeNames?: ((letters: number) => void) | undefined;
}

/** Long folders of one storage whose names are read and sorted at a time: all of them are in memory until then. */
const LONG_FOLDERS = { size: 4, share: 2 } as const;
/** Listings that go on though all who waited for them have gone: whoever asks again finds them kept. Others end. */
const LEFT_LISTINGS = 64;
/** Entries that take more are those of a long folder. */
const LONG_BYTES = 512 * 1024;

/** Reads folders, and keeps of them what their storage allows. */
export interface FolderCache {
  /**
   * @param located.mount whose storage says how to sort and how long to keep.
   * @param options.isProvisional names that are kept are answered unchecked. Whether they still hold is seen by `entries`, also of no
   * names: it throws STALE_VERSION when they do not. Saves a call for those who look at entries anyway.
   * @throws what the driver's `list` throws
   */
  read(located: Located<Mount>, options: ReadFolderOptions): Promise<Folder>;
  /** What `read` answers with `isProvisional` when names are kept; undefined when they are not. Asks the storage for nothing. */
  findKept(located: Located<Mount>): Promise<Folder | undefined>;
  /**
   * Entries came, went or got other content at these paths: forgets the folders they are in and what is below them, and further up each
   * folder that does not show yet on the way to them.
   */
  forget(paths: readonly VirtualPath[]): void;
  /**
   * The listing that is kept of a folder, and not too old: what `read` answers from without `refresh`. Undefined where none is kept. Asks the
   * storage for nothing. A name that it does not have may be there all the same: others write too.
   */
  findListing(located: Located<Mount>): Promise<Pick<ListedEntries, 'find'> | undefined>;
  /** A number that grows: changes that begin later have a higher one. */
  now(): number;
  /**
   * Takes over what a change of ours made of an entry. All is forgotten as by `forget`, but the kept listing of its folder in this very
   * storage is changed instead, where it is sure to be older than this change, and this change to be the last of its name.
   *
   * @returns what others have to forget
   */
  take(outcome: Outcome): readonly VirtualPath[];
}

/** What a storage answered to a change of ours. */
export interface Outcome {
  readonly path: VirtualPath;
  readonly driver: StorageDriver;
  /** Undefined: nothing is there any more. */
  readonly entry: Entry | undefined;
  /** What `now` said before the storage was asked. */
  readonly since: number;
}

const MS_PER_MINUTE = 60_000;

/** Told of each folder that was listed in its storage, not in what is kept. */
export type OnListed = (path: VirtualPath, folder: Pick<Folder, 'names'>) => void;

export function createFolderCache(clock: () => number, onListed: OnListed = () => {}): FolderCache {
  const kept = createKeptFolders();
  const drivers = numberDrivers();
  const underWay = createListingsUnderWay(kept);
  const turnsOf = createLongTurns();
  const { usableNames, readNames } = createNameReads(kept, turnsOf, onListed);

  const keepMsOf = ({ mount, path }: Located<Mount>): number =>
    mount.definition.config.no_cache ? 0 : cacheMinutes(mount.storage, path) * MS_PER_MINUTE;

  const usableEntries = (key: string, located: Located<Mount>): ListedEntries | undefined => {
    const known = kept.get(key);
    return known && 'entries' in known && isYounger(known.readAt, clock(), keepMsOf(located)) ? known.entries : undefined;
  };

  const readEntries = async (
    key: string,
    located: Located<Mount>,
    driver: StorageDriver,
    options: Pick<ReadFolderOptions, 'refresh' | 'signal'>,
    turns: EntryTurns,
  ): Promise<ListedEntries> => {
    const usable = options.refresh ? undefined : usableEntries(key, located);
    if (usable) return usable;
    const readAt = clock();
    const begunAt = kept.now();
    const other = kept.loading(key);
    if (other) {
      const begunBy = underWay.callerOf(other);
      try {
        return await underWay.join(other, options.signal);
      } catch (error) {
        // A circle is one of the way by which the one who began came.
        if (AppError.is(error, 'CIRCULAR_MOUNT')) return readListedEntries(driver.list(located.path));
        if (!AppError.is(error, 'OVERLOADED') || turns.caller === begunBy) throw error;
        // That one asks for too much. Of the others one begins, and they join that one: each round has one name less.
        return readEntries(key, located, driver, options, turns);
      }
    }
    // Without the caller's signal: others may join.
    const abort = new AbortController();
    const load = turns
      .list(located.path, abort.signal)
      .then(({ listed, names }) => {
        onListed(treePathOf(key), { names });
        if (kept.loading(key) !== load) return listed;
        // An empty folder is never kept.
        if (listed.count > 0 && keepMsOf(located) > 0) kept.keep(key, { entries: listed, readAt, begunAt, changedAt: new Map() });
        else kept.drop(key);
        return listed;
      })
      .finally(() => underWay.end(load));
    kept.beginLoading(key, load);
    underWay.begin(load, { key, caller: turns.caller, abort });
    return underWay.join(load, options.signal);
  };

  // What is kept belongs to one opened driver: a storage that was opened with other settings may be another folder.
  const keyOf = (located: Located<Mount>, driver: StorageDriver) => `${drivers.numberOf(driver)} ${placeOf(located)}`;

  return {
    async findKept(located) {
      const driver = await located.mount.driver();
      const usable = usableNames(keyOf(located, driver), orderOf(located.mount));
      return usable && hasNames(driver) ? provisional(usable, located, driver) : undefined;
    },
    async read(located, options) {
      const driver = await whileWanted(located.mount.driver(), options.signal);
      const order = orderOf(located.mount);
      const key = keyOf(located, driver);
      if (hasNames(driver) && (order.by === '' || order.by === 'name')) return readNames(key, located, driver, order, options);
      const turns = entryTurns(turnsOf(driver), driver, options);
      const listed = await readEntries(key, located, driver, options, turns);
      return listed.inOrder(order, (sort) => turns.use(listed, sort));
    },
    async findListing(located) {
      const driver = await located.mount.driver();
      return usableEntries(keyOf(located, driver), located);
    },
    forget: kept.forget,
    now: kept.now,
    take: (outcome) => takeOver(kept, `${drivers.numberOf(outcome.driver)} ${parentPath(outcome.path)}`, outcome),
  };
}

/** A listing that is being made, for whoever waits for it. */
interface ListingUnderWay {
  readonly key: string;
  /** Who began it. */
  readonly caller: string | undefined;
  readonly abort: AbortController;
  waiting: number;
}

/** Listings that are being made, whether others may join them or not. */
function createListingsUnderWay(kept: KeptFolders) {
  const known = new Map<Promise<ListedEntries>, ListingUnderWay>();
  /** Those that nobody waits for. */
  const left = new Set<Promise<ListedEntries>>();
  const end = (load: Promise<ListedEntries>) => {
    const listing = known.get(load);
    if (listing && kept.loading(listing.key) === load) kept.endLoading(listing.key);
    known.delete(load);
    left.delete(load);
  };
  return {
    end,
    callerOf: (load: Promise<ListedEntries>) => known.get(load)?.caller,
    begin: (load: Promise<ListedEntries>, listing: Omit<ListingUnderWay, 'waiting'>) => void known.set(load, { ...listing, waiting: 0 }),
    /** Waits for one as long as its own caller does. */
    async join(load: Promise<ListedEntries>, signal: AbortSignal | undefined): Promise<ListedEntries> {
      const listing = known.get(load);
      if (listing) listing.waiting += 1;
      left.delete(load);
      try {
        return await whileWanted(load, signal);
      } finally {
        if (listing) listing.waiting -= 1;
        if (listing?.waiting === 0 && known.has(load)) {
          if (left.size < LEFT_LISTINGS) left.add(load);
          else {
            end(load);
            listing.abort.abort();
          }
        }
      }
    },
  };
}

/** The turns with long folders of each storage. */
function createLongTurns(): (driver: StorageDriver) => Lane {
  const known = new WeakMap<StorageDriver, Lane>();
  return (driver) => {
    const turns = known.get(driver) ?? createLane(LONG_FOLDERS);
    known.set(driver, turns);
    return turns;
  };
}

/** A listing, and all of its names. */
interface NamedListing {
  readonly listed: ListedEntries;
  readonly names: readonly EntryName[];
}

/** Without the signal of the caller: others may join. */
interface EntryTurns {
  readonly caller: string | undefined;
  /** A long folder of this machine in its turn: its names come as one text. */
  list(path: MountPath, signal: AbortSignal): Promise<NamedListing>;
  /** Makes a list of the names, in their turn where there are many. */
  use<Result>(listed: ListedEntries, work: () => Promise<Result>, signal?: AbortSignal): Promise<Result>;
}

function entryTurns(turns: Lane, driver: StorageDriver, { caller, beforeNames: take }: ReadFolderOptions): EntryTurns {
  const use: EntryTurns['use'] = (listed, work, signal) => (listed.bytes > LONG_BYTES ? turns.run({ caller, signal }, work) : work());
  return {
    caller,
    use,
    list(path, signal) {
      let isTurn = false;
      const list = async (options: CallOptions): Promise<NamedListing> => {
        const listed = await readListedEntries(driver.list(path, options));
        return { listed, names: await (isTurn ? listed.names() : use(listed, listed.names, signal)) };
      };
      // It goes on to its end, and holds all of it, though whoever began it has gone, and gave back the room for it.
      return listInTurn({ caller, signal }, list, (letters, options, listAll) =>
        turns.run(options, () =>
          throughLongFolder(letters, options, () => {
            isTurn = true;
            take?.(letters);
            return listAll();
          }),
        ),
      );
    },
  };
}

/** Reads names under their versions. */
function createNameReads(kept: KeptFolders, turnsOf: (driver: StorageDriver) => Lane, onListed: OnListed) {
  const usableNames = (key: string, order: EntryOrder): KeptNames | undefined => {
    const known = kept.get(key);
    return known && 'version' in known && known.order === orderKey(order) ? known : undefined;
  };

  /** Names under their version: a page of a big folder costs a look at the folder and at the entries of the page. */
  const readNames = async (
    key: string,
    located: Located<Mount>,
    driver: NamesDriver,
    order: EntryOrder,
    { signal, isProvisional, caller, beforeNames }: ReadFolderOptions,
  ): Promise<Folder> => {
    const usable = usableNames(key, order);
    if (isProvisional && usable) return provisional(usable, located, driver);
    const listed = await driver.listNames(located.path, usable?.version, { signal, onlyShort: true });
    if (listed?.longLetters === undefined) return folderOf(key, located, driver, order, usable, listed, signal);
    return turnsOf(driver).run({ signal, caller }, async () => {
      // Others may have read it meanwhile.
      const known = usableNames(key, order);
      const looked = await driver.listNames(located.path, known?.version, { signal, onlyShort: true });
      if (looked?.longLetters === undefined) return folderOf(key, located, driver, order, known, looked, signal);
      beforeNames?.(looked.longLetters);
      const read = await driver.listNames(located.path, undefined, { signal });
      return folderOf(key, located, driver, order, undefined, read, signal);
    });
  };

  /** @param listed undefined: what is known still holds */
  const folderOf = async (
    key: string,
    located: Located<Mount>,
    driver: NamesDriver,
    order: EntryOrder,
    known: KeptNames | undefined,
    listed: NameListing | undefined,
    signal: AbortSignal | undefined,
  ): Promise<Folder> => {
    if (listed === undefined && known) return known.folder;
    if (!listed) throw new Error('a driver answered no names without a version to compare');
    const folder: Folder = {
      names: await sortNamesBy(order, listed.names, (name) => listed.directories.has(name), createPace(signal)),
      isDirectory: (name) => listed.directories.has(name),
      entries: (names, pageSignal) => driver.statMany(located.path, names, { signal: pageSignal }),
    };
    if (listed.version !== undefined) kept.keep(key, { version: listed.version, folder, order: orderKey(order) });
    onListed(treePathOf(key), folder);
    return folder;
  };

  return { usableNames, readNames };
}

/** As FolderCache.take(). @param key of the listing that the outcome belongs to */
function takeOver(kept: KeptFolders, key: string, { path, driver, entry, since }: Outcome): readonly VirtualPath[] {
  const isLeft = kept.take({ key, path, entry, since });
  if (entry || isLeft || driver.traits.keepsEmptyDirectories) return [path];
  // Its folder may have gone with it, and those above: with the topmost all that is below it is forgotten.
  const end = path.indexOf('/', 1);
  const gone = end === -1 ? [path] : [path, path.slice(0, end) as VirtualPath];
  kept.forget(gone);
  return gone;
}

/** Kept names, of which the look at entries says whether they hold. */
function provisional({ version: ifVersion, folder }: KeptNames, { path }: Located<Mount>, driver: NamesDriver): Folder {
  return { ...folder, entries: (names, signal) => driver.statMany(path, names, { signal, ifVersion }).catch(asStale) };
}

/** A folder that is gone has not the kept names either. */
function asStale(error: unknown): never {
  if (isNotThere(error)) throw new AppError('STALE_VERSION', 'the folder is gone', { cause: error });
  throw error;
}

type NamesDriver = StorageDriver & Required<Pick<StorageDriver, 'listNames' | 'statMany'>>;

function hasNames(driver: StorageDriver): driver is NamesDriver {
  return supports(driver, 'listNames') && supports(driver, 'statMany');
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

/** Gives each driver a number of its own without holding on to it. */
function numberDrivers(): { numberOf(driver: StorageDriver): number } {
  const numbers = new WeakMap<StorageDriver, number>();
  let last = 0;
  return {
    numberOf(driver) {
      const known = numbers.get(driver);
      if (known !== undefined) return known;
      last += 1;
      numbers.set(driver, last);
      return last;
    },
  };
}

/** The folder's place in the whole tree. */
function placeOf({ mountedAt, path }: Located<Mount>): string {
  if (path === '/') return mountedAt;
  return mountedAt === '/' ? path : mountedAt + path;
}
