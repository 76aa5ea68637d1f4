import { AppError } from '@wharf/errors';
import { createPace, ownText } from '@wharf/pace';
import {
  baseName,
  childPath,
  type EntryName,
  hasRoomFor,
  MOUNT_ROOT,
  type MountPath,
  parentPath,
  pathSegments,
  ROOT_NAME,
  type VirtualPath,
} from '@wharf/paths';
import { emptyContent } from '../../driver-contract/answers.ts';
import { resolveRange } from '../../driver-contract/byte-range.ts';
import { folderNamed } from '../../driver-contract/folder-named.ts';
import { createLane, type Lane } from '../../driver-contract/lane.ts';
import { type ListingRoom, listedBytes } from '../../driver-contract/listing-room.ts';
import { listInTurn, longNamesOf } from '../../driver-contract/long-listings.ts';
import type { OpenContext, Site } from '../../driver-contract/open-context.ts';
import type { ByteRange, CallOptions, DriverTraits, Entry, FileContent, StorageDriver } from '../../driver-contract/storage-driver.ts';
import { isNotThere, storageError, throwIfAborted } from '../../driver-contract/storage-error.ts';
import type { StrmSettings } from './config.ts';
import { KnownFolders } from './known-folders.ts';
import { decidersOf, isShown, type Shown, shownNames } from './shown-names.ts';

/** A folder of the tree. */
interface Place {
  readonly path: VirtualPath;
  readonly driver: StorageDriver;
}

/** Folders that are shown as one. */
interface Group {
  readonly name: EntryName;
  readonly places: readonly Place[];
  /** For looks that list: of a server that is silent no more places of all are held than this has. */
  readonly looks: Lane;
}

/** An entry, and the folder of the tree that it is in. */
interface Source {
  readonly place: Place;
  readonly entry: Entry;
}

/** Of a folder with more entries a look holds, and remembers, only what it is for. */
const MAX_HELD = 2_000;
/** What an entry and what is shown of it take beside what a driver holds of it, in bytes. Measured. */
const OBJECTS_BYTES = 400;
/** What such looks found is remembered beside so many others. */
const FEW_NAMES = 1_000;
/** Looks that list folders at a time, in all and for one caller, of one group and of all groups. */
const LOOKS = { size: 4, share: 2, waitMs: 30_000 } as const;
const ALL_LOOKS = { size: 16, share: 8, waitMs: 30_000 } as const;
interface Bound {
  readonly most: number;
  readonly decides: (entry: Entry) => boolean;
}

/** @throws AppError FAILED_PRECONDITION (a circle; nothing is mounted at one of the paths), and what opening those folders says */
export async function openStrm(settings: StrmSettings, context: OpenContext): Promise<StorageDriver> {
  const opened: StorageDriver[] = [];
  try {
    const groups: Group[] = [];
    for (const { name, paths } of settings.folders) {
      const places: Place[] = [];
      for (const path of paths) {
        const driver = await context.openMount(path, { keepsNames: false });
        opened.push(driver);
        places.push({ path, driver });
      }
      groups.push({ name, places, looks: createLane(LOOKS) });
    }
    return new StrmDriver(groups, settings, context);
  } catch (error) {
    await Promise.all(opened.map((driver) => driver.close()));
    throw error;
  }
}

/** Folders of the tree whose media are small files with addresses. */
class StrmDriver implements StorageDriver {
  readonly traits: DriverTraits = {
    caseSensitive: true,
    keepsEmptyDirectories: true,
    modTimeStepMs: undefined,
    maxNameBytes: 255,
    hashes: [],
    exclusiveCreate: false,
    copiesFolders: false,
  };
  readonly #groups: readonly Group[];
  readonly #settings: StrmSettings;
  readonly #site: Site;
  /** What is held of folders while they are listed. */
  readonly #room: ListingRoom;
  /** Where to look for the file behind a name. Each look is still made below. */
  readonly #known = new KnownFolders<Map<EntryName, Shown<Source>>>();
  readonly #looks = createLane(ALL_LOOKS);
  #isClosed = false;

  constructor(groups: readonly Group[], settings: StrmSettings, { site, listingRoom }: Pick<OpenContext, 'site' | 'listingRoom'>) {
    this.#groups = groups;
    this.#settings = settings;
    this.#site = site;
    this.#room = listingRoom;
  }

  async stat(path: MountPath, options: CallOptions = {}): Promise<Entry> {
    this.#begin(options);
    const found = await this.#find(path, options);
    if (found === undefined) return folderNamed(ROOT_NAME);
    return this.#describe(path, found, await this.#signer());
  }

  async *list(directory: MountPath, options: CallOptions = {}): AsyncGenerator<Entry, void> {
    this.#begin(options);
    if (directory === MOUNT_ROOT && this.#groups.length > 1) {
      for (const { name } of this.#groups) yield folderNamed(name);
      return;
    }
    if (directory !== MOUNT_ROOT && !(await this.#isFolder(directory, options))) throw storageError('NOT_A_DIRECTORY');
    const share = this.#room.enter();
    try {
      const { sources } = await this.#sourcesIn(directory, options, {
        onHeld: (entry) => share.take(listedBytes(entry), OBJECTS_BYTES),
        onAnew: () => share.leave(),
      });
      const shown = await shownNames([...sources.values()], this.#settings, options.signal);
      this.#known.set(directory, shown);
      const signer = await this.#signer();
      const pace = createPace(options.signal);
      for (const each of shown.values()) {
        await pace.step();
        // No path leads there.
        if (!hasRoomFor(directory, each.name)) continue;
        yield this.#describe(childPath(directory, each.name), each, signer);
      }
    } finally {
      share.leave();
    }
  }

  async read(path: MountPath, range?: ByteRange, options: CallOptions = {}): Promise<FileContent> {
    this.#begin(options);
    const found = await this.#find(path, options);
    if (found === undefined || found.source.entry.isDirectory) throw storageError('IS_A_DIRECTORY');
    const { place, entry: below } = found.source;
    const at = this.#below(parentPath(path), below.name);
    if (!found.isStrm) return place.driver.read(at, range, options);
    const signer = await this.#signer();
    const whole = Buffer.from(this.#addressOf(place, at, signer));
    const entry = this.#describe(path, found, signer);
    const { start, end } = resolveRange(range, whole.byteLength);
    if (start === end) return emptyContent(entry, options);
    const bytes = whole.subarray(start, end);
    return {
      entry,
      ...(bytes.byteLength === whole.byteLength && { whole }),
      async *[Symbol.asyncIterator]() {
        throwIfAborted(options.signal);
        yield bytes;
      },
    };
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all(this.#groups.flatMap(({ places }) => places.map(({ driver }) => driver.close())));
  }

  #begin({ signal }: CallOptions): void {
    throwIfAborted(signal);
    if (this.#isClosed) throw storageError('STORAGE_UNAVAILABLE');
  }

  /** @throws AppError ENTRY_NOT_FOUND */
  async #isFolder(path: MountPath, options: CallOptions): Promise<boolean> {
    // A folder has its own name, also one that looks like that of a file: then no other one is to be listed for it, in whose turn this one is perhaps.
    const own = isStrmName(baseName(path) ?? '') ? await this.#statBelow(path, options) : undefined;
    return own?.entry.isDirectory || (await this.#find(path, options))?.source.entry.isDirectory === true;
  }

  /** Undefined: the root. @throws AppError ENTRY_NOT_FOUND */
  async #find(path: MountPath, options: CallOptions): Promise<Shown<Source> | undefined> {
    const name = baseName(path);
    if (name === undefined) return undefined;
    const folder = parentPath(path);
    if (folder === MOUNT_ROOT && this.#groups.length > 1) {
      const group = this.#groups.find((each) => each.name === name);
      const [place] = group?.places ?? [];
      if (!place) throw storageError('ENTRY_NOT_FOUND');
      return { name, source: { place, entry: folderNamed(name) }, isStrm: false };
    }
    // A name that is its own may be looked at at once.
    if (!isStrmName(name)) {
      const own = await this.#statBelow(path, options);
      if (own && isShown(own.entry, this.#settings)) return { name, source: own, isStrm: false };
      throw storageError('ENTRY_NOT_FOUND');
    }
    for (const isFresh of [false, true]) {
      const shown = isFresh ? await this.#lookUp(folder, name, options) : this.#known.get(folder)?.get(name);
      if (!shown) continue;
      const entry = await this.#still(folder, shown.source, options);
      if (entry) return { ...shown, source: { ...shown.source, entry } };
    }
    throw storageError('ENTRY_NOT_FOUND');
  }

  /** The entry as it is; undefined where it is gone, or is something else. */
  async #still(folder: MountPath, { place, entry }: Source, options: CallOptions): Promise<Entry | undefined> {
    try {
      const now = await place.driver.stat(this.#below(folder, entry.name), options);
      return now.isDirectory === entry.isDirectory ? now : undefined;
    } catch (error) {
      if (isNotThere(error)) return undefined;
      throw error;
    }
  }

  async #statBelow(path: MountPath, options: CallOptions): Promise<Source | undefined> {
    for (const place of this.#placesOf(path)) {
      try {
        return { place, entry: await place.driver.stat(this.#inside(path), options) };
      } catch (error) {
        if (!isNotThere(error)) throw error;
      }
    }
    return undefined;
  }

  /** What is shown by one name. Of a large folder only what decides about it is held: whoever may look, may look a hundred times at once. */
  async #lookUp(folder: MountPath, name: EntryName, options: CallOptions): Promise<Shown<Source> | undefined> {
    const look = () => this.#looks.run(options, () => this.#lookInTurn(folder, name, options));
    return this.#groupOf(folder)?.looks.run(options, look);
  }

  async #lookInTurn(folder: MountPath, name: EntryName, options: CallOptions): Promise<Shown<Source> | undefined> {
    const known = this.#known.get(folder);
    const before = known?.get(name);
    if (before && (await this.#still(folder, before.source, options))) return before;
    const bound = { most: MAX_HELD, decides: decidersOf(name, this.#settings) };
    const { sources, isWhole } = await listInTurn(options, (turn) => this.#sourcesIn(folder, turn, { bound }));
    const shown = await shownNames([...sources.values()], this.#settings, options.signal);
    const found = shown.get(name);
    if (isWhole) this.#known.set(folder, shown);
    else if (found && (known?.size ?? 0) < FEW_NAMES) this.#known.set(folder, new Map([...(known ?? []), [name, found]]));
    return found;
  }

  /**
   * What is in a folder; of several that have an entry of one name, the first one's.
   *
   * @param how.bound where there are more entries than `most`, those that decide are held. @param how.onAnew what was held is let go of, and all listed anew
   * @throws AppError ENTRY_NOT_FOUND | NOT_A_DIRECTORY; what onHeld throws
   */
  async #sourcesIn(
    folder: MountPath,
    options: CallOptions,
    how: { readonly bound?: Bound; readonly onHeld?: (entry: Entry) => void; readonly onAnew?: () => void },
  ): Promise<{ readonly sources: ReadonlyMap<EntryName, Source>; readonly isWhole: boolean }> {
    const { bound, onHeld } = how;
    const sources = new Map<EntryName, Source>();
    const places = this.#placesOf(folder);
    const below = this.#inside(folder);
    const listIn = ({ driver }: Place, own: CallOptions) => driver.list(below, own);
    const { beforeNames, ...rest } = options;
    let told = 0;
    const beforeOwnNames = (bytes: number) => {
      told = bytes;
      throw storageError('CANCELLED');
    };
    const call = beforeNames ? { ...rest, beforeNames: beforeOwnNames } : rest;
    const pace = createPace(call.signal);
    let failure: unknown = storageError('ENTRY_NOT_FOUND');
    let isFound = false;
    let isWhole = true;
    for (const [index, place] of places.entries()) {
      try {
        for await (const entry of listIn(place, call)) {
          await pace.step();
          if (!hasRoomFor(below, entry.name) || sources.has(entry.name) || (!isWhole && !bound?.decides(entry))) continue;
          onHeld?.(entry);
          // Names of a folder may be parts of one text, and what is remembered may be few of them.
          const name = ownText(entry.name) as EntryName;
          sources.set(name, { place, entry: { ...entry, name } });
          if (!bound || !isWhole || sources.size <= bound.most) continue;
          isWhole = false;
          for (const [name, source] of sources) if (!bound.decides(source.entry)) sources.delete(name);
        }
        isFound = true;
      } catch (error) {
        if (beforeNames && told > 0) {
          // This one is long, and those behind it may be: whoever is told waits for the room of all.
          for (const next of places.slice(index + 1)) told += await longNamesOf((own) => listIn(next, own), rest);
          beforeNames(told);
          sources.clear();
          how.onAnew?.();
          return this.#sourcesIn(folder, rest, how);
        }
        if (!isNotThere(error)) throw error;
        if (AppError.is(error, 'NOT_A_DIRECTORY')) failure = error;
      }
    }
    if (!isFound) throw failure;
    return { sources, isWhole };
  }

  #groupOf(path: MountPath): Group | undefined {
    const [only] = this.#groups;
    if (only && this.#groups.length === 1) return only;
    const [name] = pathSegments(path);
    return this.#groups.find((group) => group.name === name);
  }

  #placesOf(path: MountPath): readonly Place[] {
    return this.#groupOf(path)?.places ?? [];
  }

  /** A path in the folders of its group. */
  #inside(path: MountPath): MountPath {
    if (this.#groups.length === 1) return path;
    return `/${pathSegments(path).slice(1).join('/')}` as MountPath;
  }

  #below(folder: MountPath, name: EntryName): MountPath {
    return childPath(this.#inside(folder), name);
  }

  #describe(path: MountPath, { name, source, isStrm }: Shown<Source>, signer: (path: string) => string): Entry {
    const { place, entry } = source;
    const { hasThumbnail: _, ...own } = entry;
    if (!isStrm) return { ...own, name };
    const sizeBytes = Buffer.byteLength(this.#addressOf(place, this.#below(parentPath(path), entry.name), signer));
    return { name, isDirectory: false, sizeBytes, modifiedAt: entry.modifiedAt, ...(entry.createdAt && { createdAt: entry.createdAt }) };
  }

  /** @param at in the folder of the place */
  #addressOf({ path }: Place, at: MountPath, signer: (path: string) => string): string {
    const { siteUrl = '', prefix, encodes, signs } = this.#settings;
    const target = path === '/' ? at : path + at;
    const sign = signs ? `?sign=${encodeURIComponent(signer(target))}` : '';
    return `${siteUrl}${prefix}${encodes ? target.split('/').map(encodeURIComponent).join('/') : target}${sign}`;
  }

  async #signer(): Promise<(path: string) => string> {
    return this.#settings.signs ? this.#site.signer() : () => '';
  }
}

function isStrmName(name: string): boolean {
  return name.toLowerCase().endsWith('.strm');
}
