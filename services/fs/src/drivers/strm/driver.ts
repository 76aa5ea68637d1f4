import { AppError } from '@wharf/errors';
import { createPace } from '@wharf/pace';
import {
  baseName,
  childPath,
  type EntryName,
  MOUNT_ROOT,
  type MountPath,
  parentPath,
  pathSegments,
  ROOT_NAME,
  type VirtualPath,
} from '@wharf/paths';
import { emptyContent } from '../../driver-contract/answers.ts';
import { resolveRange } from '../../driver-contract/byte-range.ts';
import { type ListingRoom, type ListingShare, listedBytes } from '../../driver-contract/listing-room.ts';
import { listInTurn } from '../../driver-contract/long-listings.ts';
import type { OpenContext, Site } from '../../driver-contract/open-context.ts';
import type { ByteRange, CallOptions, DriverTraits, Entry, FileContent, StorageDriver } from '../../driver-contract/storage-driver.ts';
import { storageError, throwIfAborted } from '../../driver-contract/storage-error.ts';
import type { StrmSettings } from './config.ts';
import { KnownFolders } from './known-folders.ts';
import { mayDecide, type Shown, shownNames } from './shown-names.ts';

/** A folder of the tree. */
interface Place {
  readonly path: VirtualPath;
  readonly driver: StorageDriver;
}

/** Folders that are shown as one. */
interface Group {
  readonly name: EntryName;
  readonly places: readonly Place[];
}

/** An entry, and the folder of the tree that it is in. */
interface Source {
  readonly place: Place;
  readonly entry: Entry;
}

/** Names of groups have no date of their own. */
const NO_DATE = new Date(0);
/** What single looks found is remembered beside so many others: each makes the list anew. */
const FEW_NAMES = 1_000;

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
      groups.push({ name, places });
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
    const found = await this.#find(directory, options);
    if (found === undefined && this.#groups.length > 1) {
      for (const { name } of this.#groups) yield folderNamed(name);
      return;
    }
    if (found && !found.source.entry.isDirectory) throw storageError('NOT_A_DIRECTORY');
    const share = this.#room.enter();
    try {
      const shown = await this.#shownIn(directory, options, share);
      const signer = await this.#signer();
      const pace = createPace(options.signal);
      for (const each of shown.values()) {
        await pace.step();
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
    // Most names are their own, and no folder is looked for among others: its listing may be the one that this is for.
    const own = await this.#statBelow(path, options);
    if (own?.entry.isDirectory) return { name, source: own, isStrm: false };
    const known = this.#known.get(folder);
    const shown = known?.get(name) ?? (await this.#lookFor(folder, name, options));
    const found = shown && (await this.#foundAs(folder, shown, options));
    if (found || !known?.has(name)) return found ?? notFound();
    const again = await this.#lookFor(folder, name, options);
    return (again && (await this.#foundAs(folder, again, options))) ?? notFound();
  }

  async #foundAs(folder: MountPath, shown: Shown<Source>, options: CallOptions): Promise<Shown<Source> | undefined> {
    const entry = await this.#still(folder, shown.source, options);
    return entry && { ...shown, source: { ...shown.source, entry } };
  }

  /** What is shown under a name, and remembered. Only what may decide that is held of the folder, and a long one is listed in its turn. */
  async #lookFor(folder: MountPath, name: EntryName, options: CallOptions): Promise<Shown<Source> | undefined> {
    const share = this.#room.enter();
    const look = async (call: CallOptions) =>
      shownNames(await this.#sourcesIn(folder, call, share, mayDecide(name)), this.#settings, options.signal);
    const shown = await listInTurn(options, look).finally(() => share.leave());
    const found = shown.get(name);
    const known = this.#known.get(folder);
    if (found && (known?.size ?? 0) < FEW_NAMES) this.#known.set(folder, new Map([...(known ?? []), [name, found]]));
    return found;
  }

  /** The entry as it is; undefined where it is gone, or is something else. */
  async #still(folder: MountPath, { place, entry }: Source, options: CallOptions): Promise<Entry | undefined> {
    try {
      const now = await place.driver.stat(this.#below(folder, entry.name), options);
      return now.isDirectory === entry.isDirectory ? now : undefined;
    } catch (error) {
      if (isMissing(error)) return undefined;
      throw error;
    }
  }

  async #statBelow(path: MountPath, options: CallOptions): Promise<Source | undefined> {
    for (const place of this.#placesOf(path)) {
      try {
        return { place, entry: await place.driver.stat(this.#inside(path), options) };
      } catch (error) {
        if (!isMissing(error)) throw error;
      }
    }
    return undefined;
  }

  /** What is shown of a folder; of several that have an entry of one name, the first one's. @throws AppError ENTRY_NOT_FOUND | NOT_A_DIRECTORY */
  async #shownIn(folder: MountPath, options: CallOptions, share: ListingShare): Promise<Map<EntryName, Shown<Source>>> {
    const shown = await shownNames(await this.#sourcesIn(folder, options, share), this.#settings, options.signal);
    this.#known.set(folder, shown);
    return shown;
  }

  /** @param isWanted of others nothing is held. @throws AppError ENTRY_NOT_FOUND | NOT_A_DIRECTORY */
  async #sourcesIn(
    folder: MountPath,
    options: CallOptions,
    share: ListingShare,
    isWanted = (_name: EntryName) => true,
  ): Promise<readonly Source[]> {
    const sources = new Map<EntryName, Source>();
    const pace = createPace(options.signal);
    let failure: unknown = storageError('ENTRY_NOT_FOUND');
    let isFound = false;
    for (const place of this.#placesOf(folder)) {
      try {
        for await (const entry of place.driver.list(this.#inside(folder), options)) {
          await pace.step();
          if (!isWanted(entry.name) || sources.has(entry.name)) continue;
          share.take(listedBytes(entry));
          sources.set(entry.name, { place, entry });
        }
        isFound = true;
      } catch (error) {
        if (!isMissing(error)) throw error;
        if (AppError.is(error, 'NOT_A_DIRECTORY')) failure = error;
      }
    }
    if (!isFound) throw failure;
    return [...sources.values()];
  }

  #placesOf(path: MountPath): readonly Place[] {
    const [only] = this.#groups;
    if (only && this.#groups.length === 1) return only.places;
    const [name] = pathSegments(path);
    return this.#groups.find((group) => group.name === name)?.places ?? [];
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

function notFound(): never {
  throw storageError('ENTRY_NOT_FOUND');
}

function folderNamed(name: EntryName): Entry {
  return { name, isDirectory: true, sizeBytes: 0, modifiedAt: NO_DATE };
}

function isMissing(error: unknown): boolean {
  return AppError.is(error, 'ENTRY_NOT_FOUND') || AppError.is(error, 'NOT_A_DIRECTORY');
}
