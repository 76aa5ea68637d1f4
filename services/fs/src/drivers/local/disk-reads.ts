import fs, { type BigIntStats } from 'node:fs';
import { AppError, systemCodeOf } from '@wharf/errors';
import { createPace, type Pace } from '@wharf/pace';
import { type EntryName, isEntryName, type MountPath, sortNames } from '@wharf/paths';
import { resolveRange } from '../../driver-contract/byte-range.ts';
import { bytesOnDisk } from '../../driver-contract/disk-room.ts';
import type { ByteRange, Space } from '../../driver-contract/storage-driver.ts';
import { storageError } from '../../driver-contract/storage-error.ts';
import { isReservedName } from '../../driver-contract/temp-names.ts';
import type { ConfinedRoot, HeldFolder } from './confined-root.ts';
import { isAbsence } from './errors.ts';
import { FolderChain, heldPlace } from './folder-chain.ts';
import { direntsOf, namesIn } from './names-in.ts';
import { NUMBERS_PER_ENTRY, type PackedEntry, packEntry, packGone, packOne } from './packed-entries.ts';
import { isBesideName, type TempArea } from './temp-area.ts';

/** A folder that changed within this time may change again without a new time on it. */
const SETTLED_AFTER_MS = 1000;

/** Up to this size a file is read where it is opened, in one turn. */
const INLINE_BYTES = 64 * 1024;

/** Below this, looking through the handle of the folder is cheaper than checking the way to it twice. */
const MIN_NAMES_BY_PATH = 6;

/** Names of more letters together are many. */
const LONG_LENGTH = 256 * 1024;

/** Whether a long folder is answered without its names, and whether what it takes on the disk is enough to call it one: that is not exact, and costs no reading. */
export type OnlyShort = 'by its size' | 'by its names' | false;

/** Names travel between threads as one text; none holds a "/". */
export interface ListedNames {
  readonly version: string | undefined;
  readonly names: string;
  /** How many letters the names have together, where these are too many for who asked, and none is here. */
  readonly tooLong?: number;
}

export interface OpenedFile {
  readonly stats: PackedEntry;
  readonly start: number;
  readonly end: number;
  /** The wanted bytes, or the handle to read them from, which the receiver closes. */
  readonly bytes?: Uint8Array;
  readonly fd?: number;
}

/** Several small files. */
export interface ReadMany {
  /** In their order, each with its place in `bytes`; undefined: it is left out. */
  readonly files: readonly ({ readonly stats: PackedEntry; readonly start: number; readonly end: number } | undefined)[];
  /** Of all of them: one piece of memory costs less than many. */
  readonly bytes: Uint8Array;
}

/** Everything that only looks. Blocks: for a worker thread. */
export class DiskReads {
  readonly #root: ConfinedRoot;
  readonly #temp: TempArea;
  readonly #showsHidden: boolean;

  constructor(root: ConfinedRoot, temp: TempArea, showsHidden: boolean) {
    this.#root = root;
    this.#temp = temp;
    this.#showsHidden = showsHidden;
  }

  stat(path: MountPath): PackedEntry {
    const { stats, isLink } = this.#root.stat(path);
    return packOne(stats, isLink);
  }

  /** The names of a folder in byte order, and what is known of the first `statCount` of them. @param seesAll hidden ones too @param onlyShort none of a long one */
  list(path: MountPath, statCount: number, seesAll: boolean, onlyShort: OnlyShort): ListedNames & { stats: Float64Array } {
    return this.#inFolder(path, (folder) => {
      const size = onlyShort === 'by its size' ? longSize(folder.stat()) : undefined;
      if (size !== undefined) return { version: undefined, names: '', tooLong: size, stats: new Float64Array() };
      const showsHidden = this.#showsHidden || seesAll;
      const isLong = onlyShort !== 'by its size';
      const letters = onlyShort === 'by its names' ? this.#countLetters(folder, showsHidden) : 0;
      const names = letters > LONG_LENGTH ? [] : this.#readNames(folder, showsHidden, isLong);
      const tooLong = letters > LONG_LENGTH ? letters : onlyShort ? longLength(names) : undefined;
      if (tooLong !== undefined) return { version: undefined, names: '', tooLong, stats: new Float64Array() };
      return { version: undefined, names: names.join('/'), stats: this.#statAll(folder, names.slice(0, statCount)) };
    });
  }

  /** The names with the places of folders among them; undefined when `knownVersion` still holds. @param onlyShort none of a long one */
  listNames(path: MountPath, knownVersion: string | undefined, onlyShort: boolean): (ListedNames & { folders: Uint32Array }) | undefined {
    return this.#inFolder(path, (folder) => {
      const stats = folder.stat();
      const version = versionOf(stats);
      if (version === knownVersion) return undefined;
      const isSettled = Number(stats.ctimeMs) < Date.now() - SETTLED_AFTER_MS;
      const size = onlyShort ? longSize(stats) : undefined;
      if (size !== undefined) return { version: undefined, names: '', tooLong: size, folders: new Uint32Array() };
      const all = onlyShort ? fs.readdirSync(folder.prefix, { withFileTypes: true }) : undefined;
      const tooLong = all && longLength(all.map(({ name }) => name));
      if (tooLong !== undefined) return { version: undefined, names: '', tooLong, folders: new Uint32Array() };
      const listed: string[] = [];
      /** Those that are no plain files. */
      const others = new Map<string, fs.Dirent>();
      for (const dirent of all ?? direntsOf(folder.prefix)) {
        if (!this.#isListed(folder, dirent.name)) continue;
        listed.push(dirent.name);
        if (!dirent.isFile()) others.set(dirent.name, dirent);
      }
      const names = eachOnce(listed);
      const folders: number[] = [];
      for (const [index, name] of names.entries()) {
        const dirent = others.get(name);
        if (dirent !== undefined && this.#isFolder(folder, dirent)) folders.push(index);
      }
      return { version: isSettled ? version : undefined, names: names.join('/'), folders: Uint32Array.from(folders) };
    });
  }

  statMany(path: MountPath, names: string, ifVersion?: string): Float64Array {
    return this.#inFolder(path, (folder) => {
      if (ifVersion !== undefined && ifVersion !== versionOf(folder.stat())) throw storageError('STALE_VERSION');
      const wanted = names === '' ? [] : names.split('/');
      const packed = this.#statAll(folder, wanted);
      for (const index of this.#root.otherSpellings(folder, wanted)) packGone(packed, index * NUMBERS_PER_ENTRY);
      return packed;
    });
  }

  open(path: MountPath, range: ByteRange | undefined): OpenedFile {
    const { fd, stats } = this.#openFile(path);
    let isHandedOver = false;
    try {
      const packed = packOne(stats, false);
      const { start, end } = resolveRange(range, stats.size);
      if (end - start > INLINE_BYTES) {
        isHandedOver = true;
        return { stats: packed, start, end, fd };
      }
      const bytes = new Uint8Array(Math.max(0, end - start));
      return { stats: packed, start, end, bytes: bytes.subarray(0, readInto(fd, bytes, start)) };
    } finally {
      if (!isHandedOver) fs.closeSync(fd);
    }
  }

  /** Small files, whole; one that is larger or cannot be read is left out. */
  readMany(paths: readonly MountPath[], maxBytes: number): ReadMany {
    const opened = paths.map((path) => this.#openSmall(path, maxBytes));
    try {
      const bytes = new Uint8Array(opened.reduce((sum, file) => sum + (file?.stats.size ?? 0), 0));
      let at = 0;
      const files = opened.map((file): ReadMany['files'][number] => {
        if (file === undefined) return undefined;
        const start = at;
        at += readInto(file.fd, bytes.subarray(start, start + file.stats.size));
        return { stats: packOne(file.stats, false), start, end: at };
      });
      return { files, bytes };
    } finally {
      for (const file of opened) if (file !== undefined) fs.closeSync(file.fd);
    }
  }

  /** @throws AppError CONTENT_CORRUPT: its size is 0, and it has content, as files of `/proc` and of some FUSE file systems. It is not served as empty */
  #openFile(path: MountPath): ReturnType<ConfinedRoot['openFile']> {
    const file = this.#root.openFile(path);
    try {
      if (file.stats.size === 0 && readInto(file.fd, new Uint8Array(1)) > 0)
        throw storageError('CONTENT_CORRUPT', 'the file has content, and a size of 0');
      return file;
    } catch (error) {
      fs.closeSync(file.fd);
      throw error;
    }
  }

  #openSmall(path: MountPath, maxBytes: number): ReturnType<ConfinedRoot['openFile']> | undefined {
    try {
      const file = this.#openFile(path);
      if (file.stats.size <= maxBytes) return file;
      fs.closeSync(file.fd);
    } catch {
      // Who reads it by itself learns why.
    }
    return undefined;
  }

  /** A file as `open` finds it, which it leaves closed. */
  findOnHost(path: MountPath): { stats: PackedEntry; hostPath: string } {
    const { fd, stats, realPath } = this.#root.openFile(path);
    fs.closeSync(fd);
    return { stats: packOne(stats, false), hostPath: realPath };
  }

  /** What all files below a folder hold together, in bytes. Links count as nothing, and so does a folder that is gone since it was listed, or closed to us. */
  addUp(path: MountPath, signal: AbortSignal): Promise<number> {
    return orNothing(() => this.#addUpBelow(path, (_name, stats) => (stats.isFile() ? stats.size : 0), signal));
  }

  /** What a copy of an entry takes of its disk, with all that is in it, hidden or not. */
  async sizeUpCopy(path: MountPath, signal: AbortSignal): Promise<{ bytes: number; entries: number }> {
    const { stats } = this.#root.stat(path);
    let entries = 1;
    const bytesOf: BytesOf = (name, each) => {
      const bytes = bytesOfCopied(name, each);
      if (bytes !== undefined) entries += 1;
      return bytes;
    };
    const below = stats.isDirectory() ? await this.#addUpBelow(path, bytesOf, signal) : 0;
    return { bytes: bytesOnDisk(stats.isFile() ? stats.size : 0) + below, entries };
  }

  async #addUpBelow(path: MountPath, bytesOf: BytesOf, signal: AbortSignal): Promise<number> {
    const folder = this.#root.holdFolder(path);
    try {
      const chain = new FolderChain();
      return await chain.within(heldPlace(folder), () => addUpFolder(chain, bytesOf, createPace(signal)));
    } finally {
      folder.close();
    }
  }

  space(): Space {
    const { bsize, blocks, bavail } = fs.statfsSync(this.#root.rootPath);
    return { totalBytes: bsize * blocks, freeBytes: bsize * bavail };
  }

  #inFolder<Result>(path: MountPath, look: (folder: HeldFolder) => Result): Result {
    const folder = this.#root.holdFolder(path);
    try {
      const result = look(folder);
      folder.recheck();
      return result;
    } finally {
      folder.close();
    }
  }

  /** @param isLong there may be many: they are read some at a time */
  #readNames(folder: HeldFolder, showsHidden: boolean, isLong = false): EntryName[] {
    const names: EntryName[] = [];
    for (const name of isLong ? namesOf(direntsOf(folder.prefix)) : fs.readdirSync(folder.prefix))
      if (this.#isListed(folder, name, showsHidden)) names.push(name);
    return isLong ? eachOnce(names) : sortNames(names);
  }

  /** Of all names together, none of which is kept: what a thread has read stays in its heap until it reads again. */
  #countLetters(folder: HeldFolder, showsHidden: boolean): number {
    let letters = 0;
    for (const { name } of direntsOf(folder.prefix)) if (this.#isListed(folder, name, showsHidden)) letters += name.length + 1;
    return letters;
  }

  /** Left out: what no path can name, our own files, and hidden ones unless they are shown. */
  #isListed(folder: HeldFolder, name: string, showsHidden = this.#showsHidden): name is EntryName {
    if (name.startsWith('.')) {
      if (isReservedName(name)) {
        if (isBesideName(name)) void this.#temp.sweepOne(folder, name);
        return false;
      }
      if (!showsHidden) return false;
    }
    return isEntryName(name);
  }

  #isFolder(folder: HeldFolder, dirent: fs.Dirent): boolean {
    if (dirent.isDirectory()) return true;
    if (dirent.isFile()) return false;
    const place = folder.prefix + dirent.name;
    if (dirent.isSymbolicLink()) return this.#root.statTarget(place)?.isDirectory() ?? false;
    return fs.lstatSync(place, { throwIfNoEntry: false })?.isDirectory() ?? false;
  }

  /**
   * By plain path an entry costs less than half of what it costs through the handle of its folder. That is safe while no name on the way
   * to the folder is exchanged, which the times of change of the folders above it tell, unless they are too young.
   */
  #statAll(folder: HeldFolder, names: readonly string[]): Float64Array {
    if (names.length >= MIN_NAMES_BY_PATH) {
      const settledBefore = Date.now() - SETTLED_AFTER_MS;
      const stamp = this.#stamp(folder, settledBefore);
      if (stamp !== undefined) {
        const prefix = folder.realPath.endsWith('/') ? folder.realPath : `${folder.realPath}/`;
        const packed = this.#statEach(prefix, folder.prefix, names);
        if (this.#stamp(folder, settledBefore) === stamp) return packed;
      }
    }
    return this.#statEach(folder.prefix, folder.prefix, names);
  }

  #stamp(folder: HeldFolder, settledBefore: number): string | undefined {
    try {
      return this.#root.chainStamp(folder.realPath, settledBefore);
    } catch {
      return undefined;
    }
  }

  #statEach(prefix: string, heldPrefix: string, names: readonly string[]): Float64Array {
    const packed = new Float64Array(names.length * NUMBERS_PER_ENTRY);
    let at = 0;
    for (const name of names) {
      const stats = lstatOrGone(prefix + name);
      if (stats === undefined) packGone(packed, at);
      else if (stats.isSymbolicLink()) packEntry(packed, at, this.#root.statTarget(heldPrefix + name) ?? stats, true);
      else packEntry(packed, at, stats, false);
      at += NUMBERS_PER_ENTRY;
    }
    return packed;
  }
}

/** From a place in a file on. @returns how many bytes it has there */
function readInto(fd: number, bytes: Uint8Array, start = 0): number {
  return bytes.byteLength === 0 ? 0 : fs.readSync(fd, bytes, 0, bytes.byteLength, start);
}

/** In order. A folder that changes while it is read some at a time may tell one twice. */
function eachOnce<Name extends string>(names: Name[]): Name[] {
  return sortNames(names).filter((name, index, sorted) => name !== sorted[index - 1]);
}

function* namesOf(dirents: Iterable<fs.Dirent>): Generator<string, void> {
  for (const { name } of dirents) yield name;
}

function lstatOrGone(place: string): fs.Stats | undefined {
  try {
    return fs.lstatSync(place, { throwIfNoEntry: false });
  } catch (error) {
    if (isAbsence(error) || ['EACCES', 'ENAMETOOLONG'].includes(systemCodeOf(error) ?? '')) return undefined;
    throw error;
  }
}

/** Given out for a folder that has settled only, so that equal ones mean equal names. */
function versionOf({ dev, ino, mtimeNs, ctimeNs }: fs.BigIntStats): string {
  return `${dev}-${ino}-${mtimeNs}-${ctimeNs}`;
}

/** What counts of an entry; undefined: neither it nor what is in it. */
type BytesOf = (name: string, stats: fs.Stats) => number | undefined;

/** As `DiskCopies` goes through a folder. */
const bytesOfCopied: BytesOf = (name, stats) => (isReservedName(name) ? undefined : bytesOnDisk(stats.isFile() ? stats.size : 0));

/** On most file systems what a folder takes tells it without its names. One that was long is taken for long: it waits for its turn. */
function longSize({ size }: BigIntStats): number | undefined {
  return size > 4 * LONG_LENGTH ? Number(size) : undefined;
}

/** Undefined: they are few. */
function longLength(names: readonly string[]): number | undefined {
  const length = names.reduce((sum, name) => sum + name.length + 1, 0);
  return length > LONG_LENGTH ? length : undefined;
}

async function addUpFolder(chain: FolderChain, bytesOf: BytesOf, pace: Pace): Promise<number> {
  let sum = 0;
  for (const name of namesIn(chain.prefix)) {
    await pace.step();
    const stats = fs.lstatSync(chain.at(name), { throwIfNoEntry: false });
    const bytes = stats && bytesOf(name.toString(), stats);
    if (stats === undefined || bytes === undefined) continue;
    sum += bytes;
    if (stats.isDirectory()) sum += await orNothing(() => chain.within(name, () => addUpFolder(chain, bytesOf, pace)));
  }
  return sum;
}

/** Of a folder that the system does not let us into, or that is gone. */
async function orNothing(addUp: () => Promise<number>): Promise<number> {
  try {
    return await addUp();
  } catch (error) {
    if (AppError.is(error) || systemCodeOf(error) === undefined) throw error;
    return 0;
  }
}
