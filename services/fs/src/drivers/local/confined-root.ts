import fs from 'node:fs';
import path from 'node:path';
import { systemCodeOf } from '@wharf/errors';
import { HAS_HANDLE_PATHS, handlePath, O_PATH } from '@wharf/held-folders';
import { baseName, type MountPath, parentPath } from '@wharf/paths';
import { hasDoubtfulName, isDoubtfulName, ownerOfStream } from '../../driver-contract/doubtful-names.ts';
import { storageError } from '../../driver-contract/storage-error.ts';
import { isReservedPath } from '../../driver-contract/temp-names.ts';
import { isAbsence } from './errors.ts';
import { isOnExactDisk } from './exact-disks.ts';
import { findRootDisk, type RootDisk, requireRootDisk } from './root-disk.ts';
import { SpelledNames } from './spelled-names.ts';

const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK, O_NOCTTY } = fs.constants;

/** A folder that was proved to be inside the root, held so that it stays the same whatever happens to its name. */
export interface HeldFolder {
  /** Where it was when it was opened, free of links. */
  readonly realPath: string;
  /** Put a name behind it to act on an entry of exactly this folder. The last segment is followed by calls that follow links. */
  readonly prefix: string;
  /** With times in nanoseconds. */
  stat(): fs.BigIntStats;
  /** Tells mounts apart that lie on one device; empty where the system does not say. */
  mountId(): string;
  /** Whether it is still where it was when it was opened: a handle follows a folder that is moved. */
  isInPlace(): boolean;
  /** Where there are no handles: throws when the folder is no longer where it was. */
  recheck(): void;
  close(): void;
}

/** The caller closes `fd`. */
interface OpenedFile {
  readonly fd: number;
  readonly stats: fs.Stats;
  readonly realPath: string;
}

/**
 * The only way from a path of a storage to the disk. Links are followed only to places inside the root.
 *
 * On Linux each place is opened first, then the system is asked where it really is, and everything happens through the handle: exchanging a
 * folder for a link between check and use changes nothing. Elsewhere the real path is compared before and after, which leaves a gap.
 * Where the disk folds names (`guardSpelling`), and for names by which some disks find what they list otherwise, a path leads somewhere only when each such
 * segment is spelled as its folder lists it, so that an entry has one path and rules on paths hold. What the system says of where a handle is may be spelled as it was asked for, so it tells nothing.
 *
 * All calls block: they belong on a worker thread. Errors are those of the system, or AppError.
 */
export class ConfinedRoot {
  /** Absolute and free of links. */
  readonly rootPath: string;
  readonly #hasHandles: boolean;
  readonly #isExact: (folder: string) => boolean;
  readonly #names = new SpelledNames();
  #folds = false;
  #disk: RootDisk;

  /** @param isExact another answer than the disk's is given by tests only */
  constructor(rootPath: string, hasHandles = HAS_HANDLE_PATHS, isExact = isOnExactDisk) {
    this.rootPath = rootPath;
    this.#hasHandles = hasHandles;
    this.#isExact = isExact;
    this.#disk = findRootDisk(rootPath);
  }

  /** What the root is on, as far as is known. */
  get disk(): RootDisk {
    return this.#disk;
  }

  /** What the root was on when the storage was opened. */
  goByDisk(disk: RootDisk): void {
    this.#disk = disk;
  }

  /** From now on other spellings of a name are not there. */
  guardSpelling(): void {
    this.#folds = true;
  }

  get folds(): boolean {
    return this.#folds;
  }

  /** Whether an entry is there by this name only if its folder lists it, on some disks: snapshots and files of the file system itself begin with a dot, too. */
  isGuarded(name: string): boolean {
    return this.#folds || name.startsWith('.') || isDoubtfulName(name);
  }

  /** @throws ENTRY_NOT_FOUND for a folder outside, as for one that is not there; ENOTDIR; STORAGE_UNAVAILABLE where the disk of the root is not there */
  holdFolder(folder: MountPath): HeldFolder {
    return this.#onDisk(() => {
      this.#checkSpelling(folder);
      return this.#hold(this.#absolute(folder));
    });
  }

  /** The folder of an entry and its name. The entry itself may be missing, or a link. @throws INVALID_ARGUMENT for the root */
  holdParent(entry: MountPath): { folder: HeldFolder; name: string } {
    const name = baseName(entry);
    if (name === undefined) throw storageError('INVALID_ARGUMENT');
    return { folder: this.holdFolder(parentPath(entry)), name };
  }

  /** Whether the name leads to an entry that the folder spells otherwise, or does not list. */
  isOtherSpelling(folder: HeldFolder, name: string): boolean {
    if (!this.#isToBeListed(folder, name) || !isThere(folder, name)) return false;
    // A disk keeps a name of its own from others: what it lists under a dot is nothing else by that name later.
    const staysListed = !this.#folds && !isDoubtfulName(name);
    return this.#names.absentIn(folder, [name], (other) => this.isGuarded(other), staysListed).length > 0;
  }

  /** Places in `names`, which were listed, of those that are spelled otherwise, or are not there. None where names do not fold. */
  otherSpellings(folder: HeldFolder, names: readonly string[]): readonly number[] {
    return this.#folds ? this.#names.absentIn(folder, names) : [];
  }

  /** What an entry is, and whether it is a link. A link is judged by its target, or by itself when that is missing or outside. */
  stat(entry: MountPath): { stats: fs.Stats; isLink: boolean } {
    return this.#onDisk(() => {
      this.#checkSpelling(entry);
      return this.#hasHandles ? this.#statByHandle(entry) : this.#statByPath(entry);
    });
  }

  /** What a link leads to; undefined when that is missing or outside the root. */
  statTarget(link: string): fs.Stats | undefined {
    return this.#follow(link)?.stats;
  }

  /** Where a link really leads; undefined when that is missing or outside the root. */
  findTarget(link: string): MountPath | undefined {
    const target = this.#follow(link);
    return target === undefined ? undefined : this.#inside(target.realPath);
  }

  /**
   * Opens a regular file for reading, links followed. The caller closes the handle.
   * @throws IS_A_DIRECTORY | UNSUPPORTED_OPERATION for what is neither file nor folder, without waiting for it
   */
  openFile(file: MountPath): OpenedFile {
    return this.#onDisk(() => {
      this.#checkSpelling(file);
      return this.#openRegular(this.#absolute(file));
    });
  }

  /** A folder of our own right in a held one, never through a link. Reserved names are fine here. */
  holdOwnFolder(parent: HeldFolder, name: string): HeldFolder {
    const place = parent.prefix + name;
    if (this.#hasHandles) return heldByHandle(fs.openSync(place, O_PATH | O_DIRECTORY | O_NOFOLLOW));
    if (!fs.lstatSync(place).isDirectory()) throw storageError('NOT_A_DIRECTORY');
    return heldByPath(place, () => undefined);
  }

  /** The times of last change of the folders between the root and `realPath`: as long as they stay, no name on the way was exchanged. */
  chainStamp(realPath: string, olderThan: number): string | undefined {
    let stamp = '';
    for (let folder = realPath; folder !== this.rootPath; ) {
      folder = path.dirname(folder);
      const { ctimeMs, ino } = fs.lstatSync(folder);
      if (ctimeMs > olderThan) return undefined;
      stamp += `${ino}@${ctimeMs} `;
      if (folder === '/') break;
    }
    return stamp;
  }

  /** What is not found on a disk that is away is not gone. */
  #onDisk<Found>(find: () => Found): Found {
    try {
      return find();
    } catch (error) {
      if (isAbsence(error)) this.#requireDisk();
      throw error;
    }
  }

  /** It may lie on a disk that is mounted below the root. */
  #checkDevice(found: fs.Stats): void {
    if (found.dev !== this.#disk.device) this.#requireDisk();
  }

  #requireDisk(): void {
    const disk = requireRootDisk(this.rootPath, this.#disk);
    if (disk === this.#disk) return;
    this.#disk = disk;
    if (this.#folds || this.#isExact(this.rootPath)) return;
    // It was not tried out how this one takes names, and what is being done was not held to it.
    this.guardSpelling();
    throw storageError('STORAGE_UNAVAILABLE', new Error('another disk is mounted at the root'));
  }

  /** What is missing passes: the system says so. @throws ENOENT when a segment is spelled otherwise, for by that name nothing is there */
  #checkSpelling(entry: MountPath): void {
    const name = baseName(entry);
    if (name === undefined || (!this.#folds && !entry.includes('/.') && !hasDoubtfulName(entry))) return;
    if (!this.isGuarded(name)) {
      this.#checkSpelling(parentPath(entry));
      return;
    }
    const folder = this.holdFolder(parentPath(entry));
    try {
      if (this.isOtherSpelling(folder, name)) throw Object.assign(new Error('the entry is spelled otherwise'), { code: 'ENOENT' });
    } finally {
      folder.close();
    }
  }

  /** Of a name that is guarded: whether its folder is read for it. A stream has a file to which it belongs. */
  #isToBeListed(folder: HeldFolder, name: string): boolean {
    if (this.#folds) return true;
    if (!this.isGuarded(name) || this.#isExact(folder.prefix)) return false;
    const owner = ownerOfStream(name);
    return owner === undefined || isThere(folder, owner);
  }

  #hold(place: string): HeldFolder {
    if (!this.#hasHandles) return this.#holdByPath(place);
    const fd = fs.openSync(place, O_PATH | O_DIRECTORY);
    const held = heldByHandle(fd);
    try {
      this.#checkDevice(fs.fstatSync(fd));
      if (this.#contains(held.realPath)) return held;
      throw storageError('ENTRY_NOT_FOUND');
    } catch (error) {
      held.close();
      throw error;
    }
  }

  #holdByPath(place: string): HeldFolder {
    const realPath = fs.realpathSync.native(place);
    if (!this.#contains(realPath)) throw storageError('ENTRY_NOT_FOUND');
    const stats = fs.lstatSync(realPath);
    this.#checkDevice(stats);
    if (!stats.isDirectory()) throw storageError('NOT_A_DIRECTORY');
    const recheck = () => {
      if (fs.realpathSync.native(place) !== realPath) throw storageError('ENTRY_NOT_FOUND');
    };
    return heldByPath(realPath, recheck);
  }

  #statByHandle(entry: MountPath): { stats: fs.Stats; isLink: boolean } {
    const place = this.#absolute(entry);
    const fd = fs.openSync(place, O_PATH | O_NOFOLLOW);
    try {
      const stats = fs.fstatSync(fd);
      this.#checkDevice(stats);
      if (!this.#contains(fs.readlinkSync(handlePath(fd)))) throw storageError('ENTRY_NOT_FOUND');
      return stats.isSymbolicLink() ? { stats: this.statTarget(place) ?? stats, isLink: true } : { stats, isLink: false };
    } finally {
      fs.closeSync(fd);
    }
  }

  #statByPath(entry: MountPath): { stats: fs.Stats; isLink: boolean } {
    if (baseName(entry) === undefined) return { stats: fs.lstatSync(this.rootPath), isLink: false };
    const { folder, name } = this.holdParent(entry);
    const stats = fs.lstatSync(folder.prefix + name);
    folder.recheck();
    return stats.isSymbolicLink() ? { stats: this.statTarget(folder.prefix + name) ?? stats, isLink: true } : { stats, isLink: false };
  }

  #follow(link: string): { stats: fs.Stats; realPath: string } | undefined {
    try {
      if (!this.#hasHandles) {
        const realPath = fs.realpathSync.native(link);
        return this.#contains(realPath) ? { stats: fs.lstatSync(realPath), realPath } : undefined;
      }
      const fd = fs.openSync(link, O_PATH);
      try {
        const realPath = fs.readlinkSync(handlePath(fd));
        return this.#contains(realPath) ? { stats: fs.fstatSync(fd), realPath } : undefined;
      } finally {
        fs.closeSync(fd);
      }
    } catch (error) {
      if (isAbsence(error) || systemCodeOf(error) === 'EACCES') return undefined;
      throw error;
    }
  }

  #openRegular(place: string): OpenedFile {
    // To open a device can act on it, so that only regular files get this far; what is opened then is checked again.
    checkRegular(fs.statSync(place));
    const before = this.#hasHandles ? undefined : fs.realpathSync.native(place);
    const fd = fs.openSync(place, O_RDONLY | O_NONBLOCK | O_NOCTTY);
    try {
      const realPath = this.#hasHandles ? fs.readlinkSync(handlePath(fd)) : fs.realpathSync.native(place);
      if (!this.#contains(realPath) || (before !== undefined && before !== realPath)) throw storageError('ENTRY_NOT_FOUND');
      const stats = fs.fstatSync(fd);
      this.#checkDevice(stats);
      checkRegular(stats);
      return { fd, stats, realPath };
    } catch (error) {
      fs.closeSync(fd);
      throw error;
    }
  }

  #absolute(place: MountPath): string {
    return this.rootPath === '/' ? place : this.rootPath + (place === '/' ? '' : place);
  }

  #contains(realPath: string): boolean {
    const isInside = this.rootPath === '/' || realPath === this.rootPath || realPath.startsWith(`${this.rootPath}/`);
    return isInside && !isReservedPath(realPath.slice(this.rootPath.length));
  }

  #inside(realPath: string): MountPath {
    // Real paths are in the normal form of a MountPath, and this one was found inside the root.
    return (this.rootPath === '/' ? realPath : realPath.slice(this.rootPath.length) || '/') as MountPath;
  }
}

/**
 * Opens a folder by its place in a held one, never through a link, so that a walk stays in the tree it began in. The caller closes `fd`.
 * Bytes, because names on the disk need not be UTF-8.
 */
export function openChildFolder(place: Buffer): { fd: number; prefix: Buffer } {
  const fd = fs.openSync(place, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  return { fd, prefix: HAS_HANDLE_PATHS ? Buffer.from(`${handlePath(fd)}/`) : Buffer.concat([place, Buffer.from('/')]) };
}

/** Opens a regular file in the same way. @throws UNSUPPORTED_OPERATION for what is none */
export function openChildFile(place: Buffer): { fd: number; stats: fs.Stats } {
  const fd = fs.openSync(place, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
  try {
    const stats = fs.fstatSync(fd);
    checkRegular(stats);
    return { fd, stats };
  } catch (error) {
    fs.closeSync(fd);
    throw error;
  }
}

function heldByHandle(fd: number): HeldFolder {
  try {
    const realPath = fs.readlinkSync(handlePath(fd));
    const mountId = () => /^mnt_id:\s*(\d+)/m.exec(fs.readFileSync(`/proc/self/fdinfo/${fd}`, 'utf8'))?.[1] ?? '';
    return {
      realPath,
      prefix: `${handlePath(fd)}/`,
      stat: () => fs.fstatSync(fd, { bigint: true }),
      mountId,
      isInPlace: () => fs.readlinkSync(handlePath(fd)) === realPath,
      recheck: () => undefined,
      close: () => fs.closeSync(fd),
    };
  } catch (error) {
    fs.closeSync(fd);
    throw error;
  }
}

function heldByPath(realPath: string, recheck: () => void): HeldFolder {
  return {
    realPath,
    prefix: realPath.endsWith('/') ? realPath : `${realPath}/`,
    stat: () => fs.lstatSync(realPath, { bigint: true }),
    mountId: () => '',
    // What is done by its path is done there.
    isInPlace: () => true,
    recheck,
    close: () => undefined,
  };
}

function isThere(folder: HeldFolder, name: string): boolean {
  return fs.lstatSync(folder.prefix + name, { throwIfNoEntry: false }) !== undefined;
}

function checkRegular(stats: fs.Stats): void {
  if (stats.isDirectory()) throw storageError('IS_A_DIRECTORY');
  if (!stats.isFile()) throw storageError('UNSUPPORTED_OPERATION');
}
