import fs from 'node:fs';
import { systemCodeOf } from '@wharf/errors';
import { baseName, MOUNT_ROOT, type MountPath, parentPath } from '@wharf/paths';
import type { Entry } from '../../driver-contract/storage-driver.ts';
import { storageError } from '../../driver-contract/storage-error.ts';
import { requireUnchanged } from '../../driver-contract/unchanged.ts';
import type { ConfinedRoot, HeldFolder } from './confined-root.ts';
import { carriedLink, hasLinkOut } from './disk-links.ts';
import { codeOfSystem, type DiskFailure, diskFailure, toAppError } from './errors.ts';
import { FolderSyncs } from './folder-syncs.ts';
import { monotonicMs } from './monotonic.ts';
import { direntsOf } from './names-in.ts';
import { type PackedEntry, packOne, unpackOne } from './packed-entries.ts';
import { placeExclusively, placeFolderExclusively } from './place-entry.ts';
import { isKeptName } from './probe-names.ts';
import type { RecycleBin } from './recycle-bin.ts';
import { removeAside } from './remove-aside.ts';
import { removeTree } from './remove-tree.ts';
import { syncHandle } from './sync-folder.ts';
import type { TempArea, TempRef } from './temp-area.ts';

const { O_RDWR, O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW } = fs.constants;
const PERMISSION_BITS = 0o777;

export interface BegunWrite {
  readonly temp: TempRef;
  /** Open for writing; `publish` or the receiver closes it. */
  readonly fd: number;
}

/** A file whose content is here. */
export interface SmallWrite {
  readonly path: MountPath;
  readonly content: Uint8Array;
  readonly overwrite: boolean;
  /** Since 1970; undefined: it is modified now. */
  readonly modifiedMs: number | undefined;
}

/** One of several, with the place of its content in the memory of all. */
export interface PlacedWrite extends Omit<SmallWrite, 'content'> {
  readonly start: number;
  readonly end: number;
  /** By {@link monotonicMs}: later it gets no name. */
  readonly untilMs: number;
}

export type ManyWritten = PackedEntry | DiskFailure | 'too late';

class TooLate extends Error {}

/** An existing entry, or a name that is free, in a folder that is held. */
interface Target {
  readonly folder: HeldFolder;
  readonly folderPath: MountPath;
  readonly name: string;
  readonly place: string;
  readonly existing: fs.Stats | undefined;
}

/** Everything that changes names. What blocks is short; waiting for the disk to sync is not blocking. For a worker thread. */
export class DiskWrites {
  readonly #root: ConfinedRoot;
  readonly #temp: TempArea;
  readonly #folderMode: number;
  readonly #bin: RecycleBin | undefined;
  readonly #syncs = new FolderSyncs();

  constructor(root: ConfinedRoot, temp: TempArea, folderMode: number, bin: RecycleBin | undefined) {
    this.#root = root;
    this.#temp = temp;
    this.#folderMode = folderMode;
    this.#bin = bin;
  }

  /** Makes missing parents and, with `make`, a temporary file that `publish` can give the name `path`. */
  async beginWrite(path: MountPath, overwrite: boolean, make = createFile): Promise<BegunWrite> {
    return this.#inMadeFolder(path, overwrite, ({ folder, folderPath }) => {
      const { ref, made } = this.#temp.create(folder, folderPath, make);
      return { temp: ref, fd: made };
    });
  }

  /**
   * Stores a file whole whose content is here: what {@link beginWrite} and {@link publish} do, with the folder held once. Whatever fails, nothing is left.
   * @param untilMs by {@link monotonicMs}: later it gets no name. @throws TooLate
   */
  async writeWhole(file: SmallWrite, untilMs = Number.POSITIVE_INFINITY): Promise<PackedEntry> {
    const { path, content, overwrite, modifiedMs } = file;
    const giveName = (ref: TempRef, fd: number, target: Target) => {
      if (monotonicMs() > untilMs) throw new TooLate();
      return this.#giveName(ref, fd, target, overwrite);
    };
    return this.#temp.whileHeld(() =>
      this.#inMadeFolder(path, overwrite, async (target) => {
        const { ref, made: fd } = this.#temp.create(target.folder, target.folderPath, createFile);
        try {
          for (let done = 0; done < content.byteLength; ) done += fs.writeSync(fd, content, done);
          if (modifiedMs !== undefined) fs.futimesSync(fd, new Date(), new Date(modifiedMs));
          await this.#seal(fd, target.existing);
          const isSame = stampOf(lookAt(target.place)) === stampOf(target.existing) && target.folder.isInPlace();
          if (isSame) return await giveName(ref, fd, target);
          return await this.#withTarget(path, overwrite, (found) => giveName(ref, fd, found));
        } catch (error) {
          await this.#temp.discard(ref);
          throw error;
        } finally {
          fs.closeSync(fd);
        }
      }),
    );
  }

  /** The same of several at once. @returns in their order what each became; 'too late': it has got no name, for the time was over */
  writeMany(files: readonly PlacedWrite[], bytes: Uint8Array): Promise<ManyWritten[]> {
    return Promise.all(
      files.map(({ start, end, untilMs, ...file }) =>
        this.writeWhole({ ...file, content: bytes.subarray(start, end) }, untilMs).catch((error: unknown) =>
          error instanceof TooLate ? 'too late' : diskFailure(error),
        ),
      ),
    );
  }

  /**
   * Makes the draft of a file, with missing parents, or opens it. One that has a second name has been published by a process that died before it
   * took the first one away: that is done now.
   * @throws ENOENT | ENTRY_NOT_FOUND | EEXIST
   */
  async openDraft(path: MountPath, id: string, create: boolean): Promise<BegunWrite> {
    const wanted = parentPath(path);
    if (create) await this.#makeFolders(wanted);
    // Where the folder has gone, or a file has its name, its draft may still lie below the root.
    const folderPath = create || this.#isStillFolder(wanted) ? wanted : MOUNT_ROOT;
    const folder = this.#root.holdFolder(folderPath);
    try {
      const { ref, made } = this.#temp.openDraft(folder, folderPath, id, O_RDWR | O_NOFOLLOW | (create ? O_CREAT | O_EXCL : 0));
      folder.recheck();
      if (fs.fstatSync(made).nlink > 1) {
        fs.closeSync(made);
        await this.#temp.discard(ref);
        throw storageError('ENTRY_NOT_FOUND');
      }
      return { temp: ref, fd: made };
    } finally {
      folder.close();
    }
  }

  /**
   * Makes durable what {@link publishSealed} gives its name, so that nothing takes long between a last question and the name.
   * @param isDraft its folder is made again where it was removed. @returns what has the name before the question
   */
  async seal(fd: number, path: MountPath, overwrite: boolean, isDraft: boolean): Promise<string> {
    if (isDraft) await this.#makeFolders(parentPath(path));
    return this.#withTarget(path, overwrite, async ({ existing }) => {
      await this.#seal(fd, existing);
      return stampOf(existing);
    });
  }

  /** Gives a finished temporary file its name, durably. The folder is held no longer than that takes: it may be moved. Closes `fd` in any case. */
  async publish(temp: TempRef, fd: number, path: MountPath, overwrite: boolean): Promise<PackedEntry> {
    try {
      await this.seal(fd, path, overwrite, false);
      return await this.#withTarget(path, overwrite, (target) => this.#giveName(temp, fd, target, overwrite));
    } finally {
      fs.closeSync(fd);
    }
  }

  /** The same for a draft, whose folder may have been removed since it was made: it is made again. */
  async publishDraft(temp: TempRef, fd: number, path: MountPath, overwrite: boolean): Promise<PackedEntry> {
    try {
      await this.#makeFolders(parentPath(path));
    } catch (error) {
      fs.closeSync(fd);
      throw error;
    }
    return this.publish(temp, fd, path, overwrite);
  }

  /**
   * The same for what was sealed, without a pause between the last look and the name.
   * @param seen what had the name when it was sealed. @returns undefined when something else has it by now; only then `fd` stays open
   */
  async publishSealed(temp: TempRef, fd: number, path: MountPath, overwrite: boolean, seen: string): Promise<PackedEntry | undefined> {
    let isOpen = false;
    try {
      const packed = await this.#withTarget(path, overwrite, async (target) =>
        stampOf(target.existing) === seen ? this.#giveName(temp, fd, target, overwrite) : undefined,
      );
      isOpen = packed === undefined;
      return packed;
    } finally {
      if (!isOpen) fs.closeSync(fd);
    }
  }

  /** Makes an open file durable, with what it takes over of the one that it replaces. */
  async #seal(fd: number, replaced: fs.Stats | undefined): Promise<void> {
    if (replaced !== undefined) keepOwnership(fd, replaced);
    await syncHandle(fd);
  }

  async #giveName(temp: TempRef, fd: number, target: Target, overwrite: boolean): Promise<PackedEntry> {
    const packed = packOne(fs.fstatSync(fd), false);
    await this.#temp.at(temp, async (place) => {
      if (this.#root.isOtherSpelling(target.folder, target.name)) throw storageError('ENTRY_EXISTS');
      // What may be stored at this path need not be for those who see the folder elsewhere.
      if (!target.folder.isInPlace()) throw storageError('STALE_VERSION');
      if (overwrite) fs.renameSync(place, target.place);
      else placeExclusively(place, target.place);
    });
    await this.#syncs.sync(target.folder);
    return packed;
  }

  async makeDirectory(path: MountPath): Promise<PackedEntry> {
    try {
      await this.#makeFolders(path);
    } catch (error) {
      if (toAppError(error).code === 'NOT_A_DIRECTORY' && this.#isThere(path)) throw storageError('ENTRY_EXISTS', error);
      throw error;
    }
    const { stats, isLink } = this.#root.stat(path);
    return packOne(stats, isLink);
  }

  async remove(path: MountPath, recursive: boolean, signal: AbortSignal, onlyIf?: Entry): Promise<void> {
    const { folder, name } = this.#root.holdParent(path);
    try {
      const place = folder.prefix + name;
      const stats = fs.lstatSync(place);
      if (this.#root.isOtherSpelling(folder, name)) throw storageError('ENTRY_NOT_FOUND');
      folder.recheck();
      const isForBin = this.#bin?.takes(folder.realPath, name) === true;
      const isLink = stats.isSymbolicLink();
      if (onlyIf) requireUnchanged(onlyIf, unpackOne(path, packOne(isLink ? (this.#root.statTarget(place) ?? stats) : stats, isLink)));
      if (onlyIf && !stats.isDirectory()) {
        removeAside(this.#root, folder, { name, seen: stats }, (aside) => (isForBin ? this.#bin?.take(aside, name) : fs.unlinkSync(aside)));
      } else if (isForBin) {
        if (stats.isDirectory() && !recursive && !isEmpty(place)) throw storageError('DIRECTORY_NOT_EMPTY');
        this.#bin?.take(place, name);
      } else if (!stats.isDirectory()) fs.unlinkSync(place);
      else if (recursive) await removeTree(place, signal);
      else fs.rmdirSync(place);
      await this.#syncs.sync(folder);
    } finally {
      folder.close();
    }
  }

  async rename(from: MountPath, to: MountPath, overwrite: boolean, signal?: AbortSignal): Promise<PackedEntry> {
    const source = this.#root.holdParent(from);
    try {
      const sourcePlace = source.folder.prefix + source.name;
      const stats = fs.lstatSync(sourcePlace);
      if (this.#root.isOtherSpelling(source.folder, source.name)) throw storageError('ENTRY_NOT_FOUND');
      const target = this.#root.holdParent(to);
      try {
        const place = target.folder.prefix + target.name;
        const isSame = source.folder.realPath === target.folder.realPath && source.name === target.name;
        const sourceReal = joined(source.folder, source.name);
        if (!isSame && stats.isDirectory() && isBelow(sourceReal, joined(target.folder, target.name)))
          throw storageError('INVALID_ARGUMENT');
        const hasOtherParent = source.folder.realPath !== target.folder.realPath;
        await this.checkFree(target.folder, to, hasOtherParent ? undefined : stats);
        if (hasOtherParent && stats.isDirectory() && (await hasLinkOut(sourcePlace, signal))) throw storageError('UNSUPPORTED_OPERATION');
        if (hasOtherParent && stats.isSymbolicLink()) await this.#moveLink(sourcePlace, source.folder, target.folder, to, overwrite);
        else if (!isSame) moveTo(sourcePlace, stats, place, overwrite);
        target.folder.recheck();
        source.folder.recheck();
        await this.#syncs.sync(target.folder);
        if (hasOtherParent) await this.#syncs.sync(source.folder);
        const placed = fs.lstatSync(place);
        const isLink = placed.isSymbolicLink();
        return packOne(isLink ? (this.#root.statTarget(place) ?? placed) : placed, isLink);
      } finally {
        target.folder.close();
      }
    } finally {
      source.folder.close();
    }
  }

  /** Gives a link another folder, from where it leads to the same place. */
  async #moveLink(place: string, from: HeldFolder, to: HeldFolder, target: MountPath, overwrite: boolean): Promise<void> {
    const text = carriedLink(place, from.realPath, to.realPath);
    const { ref } = this.#temp.create(to, parentPath(target), (temp) => fs.symlinkSync(text, temp));
    try {
      const name = to.prefix + target.slice(target.lastIndexOf('/') + 1);
      await this.#temp.at(ref, async (temp) => moveTo(temp, fs.lstatSync(temp), name, overwrite));
    } catch (error) {
      await this.#temp.discard(ref);
      throw error;
    }
    fs.unlinkSync(place);
  }

  /** The same where the folder may be missing: it is made then, with those above it. */
  async #inMadeFolder<Result>(path: MountPath, overwrite: boolean, use: (target: Target) => Result | Promise<Result>): Promise<Result> {
    if (path === '/') throw storageError(overwrite ? 'IS_A_DIRECTORY' : 'ENTRY_EXISTS');
    try {
      return await this.#withTarget(path, overwrite, use);
    } catch (error) {
      if (codeOfSystem(error) !== 'ENTRY_NOT_FOUND') throw error;
      await this.#makeFolders(parentPath(path));
      return this.#withTarget(path, overwrite, use);
    }
  }

  /**
   * Finds the place that content for `path` goes to. A link counts as its target; one without a target inside the root is refused.
   */
  async #withTarget<Result>(path: MountPath, overwrite: boolean, use: (target: Target) => Result | Promise<Result>): Promise<Result> {
    const { folder, name } = this.#root.holdParent(path);
    try {
      const place = folder.prefix + name;
      const existing = lookAt(place);
      await this.checkFree(folder, path);
      if (existing !== undefined && !overwrite) throw storageError('ENTRY_EXISTS');
      if (existing?.isSymbolicLink()) {
        const real = this.#root.findTarget(place);
        if (real === undefined) throw storageError('PERMISSION_DENIED');
        if (real !== path) return await this.#withTarget(real, overwrite, use);
      }
      if (existing?.isDirectory()) throw storageError('IS_A_DIRECTORY');
      if (existing !== undefined && !existing.isFile()) throw storageError('UNSUPPORTED_OPERATION');
      const result = await use({ folder, folderPath: parentPath(path), name, place, existing });
      folder.recheck();
      return result;
    } finally {
      folder.close();
    }
  }

  /**
   * Of a name that is guarded: that an entry can be made, or is there, in just this spelling.
   *
   * @param itself an entry of the same folder that may get this spelling
   * @throws ENTRY_EXISTS for another spelling of what is there | INVALID_ARGUMENT for a name that the disk would spell otherwise
   */
  async checkFree(folder: HeldFolder, path: MountPath, itself?: fs.Stats): Promise<void> {
    const name = baseName(path) ?? '';
    if (!this.#root.isGuarded(name)) return;
    const existing = fs.lstatSync(folder.prefix + name, { throwIfNoEntry: false });
    if (existing !== undefined) {
      if (!this.#root.isOtherSpelling(folder, name)) return;
      const isItself = existing.ino === itself?.ino && existing.dev === itself.dev && (existing.nlink === 1 || existing.isDirectory());
      if (!isItself) throw storageError('ENTRY_EXISTS');
    }
    if (this.#root.folds && !(await isKeptName(this.#temp, folder, parentPath(path), name))) throw storageError('INVALID_ARGUMENT');
  }

  /** Makes a folder and what is missing above it, each durable. */
  async #makeFolders(path: MountPath): Promise<void> {
    if (this.#isFolder(path)) return;
    await this.#makeFolders(parentPath(path));
    const { folder, name } = this.#root.holdParent(path);
    try {
      await this.checkFree(folder, path);
      fs.mkdirSync(folder.prefix + name, this.#folderMode);
      folder.recheck();
      await this.#syncs.sync(folder);
    } catch (error) {
      if (systemCodeOf(error) !== 'EEXIST') throw error;
      // Somebody was faster, or it is a link that leads nowhere.
      if (!this.#isFolder(path)) throw storageError('NOT_A_DIRECTORY', error);
    } finally {
      folder.close();
    }
  }

  #isThere(path: MountPath): boolean {
    try {
      this.#root.stat(path);
      return true;
    } catch {
      return false;
    }
  }

  #isStillFolder(path: MountPath): boolean {
    try {
      return this.#isFolder(path);
    } catch (error) {
      if (systemCodeOf(error) !== 'ENOTDIR') throw error;
      return false;
    }
  }

  #isFolder(path: MountPath): boolean {
    try {
      this.#root.holdFolder(path).close();
      return true;
    } catch (error) {
      if (codeOfSystem(error) === 'ENTRY_NOT_FOUND') return false;
      throw error;
    }
  }
}

/** Tells one state of a file from every other. */
function stampOf(stats: fs.Stats | undefined): string {
  return stats === undefined ? '' : [stats.dev, stats.ino, stats.size, stats.mtimeMs, stats.ctimeMs].join(' ');
}

function lookAt(place: string): fs.Stats | undefined {
  return fs.lstatSync(place, { throwIfNoEntry: false });
}

/** A new file with the mode that the umask leaves. @throws EEXIST */
export function createFile(place: string | Buffer): number {
  return fs.openSync(place, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o666);
}

function moveTo(from: string, stats: fs.Stats, to: string, overwrite: boolean): void {
  const existing = fs.lstatSync(to, { throwIfNoEntry: false });
  if (existing !== undefined && existing.ino === stats.ino && existing.dev === stats.dev) {
    // Two names of one file, for which rename does nothing; or one name in two cases where case does not count.
    if (!overwrite && stats.nlink > 1 && !stats.isDirectory()) throw storageError('ENTRY_EXISTS');
    if (stats.nlink > 1 && !stats.isDirectory()) fs.unlinkSync(from);
    else fs.renameSync(from, to);
    return;
  }
  if (existing !== undefined && !overwrite) throw storageError('ENTRY_EXISTS');
  if (existing !== undefined && existing.isDirectory() !== stats.isDirectory()) {
    throw storageError(existing.isDirectory() ? 'IS_A_DIRECTORY' : 'NOT_A_DIRECTORY');
  }
  if (overwrite) renameOver(from, to);
  else if (stats.isDirectory()) placeFolderExclusively(from, to);
  else placeExclusively(from, to);
}

function isEmpty(folder: string): boolean {
  for (const _first of direntsOf(folder)) return false;
  return true;
}

function renameOver(from: string, to: string): void {
  try {
    fs.renameSync(from, to);
  } catch (error) {
    throw systemCodeOf(error) === 'EEXIST' ? storageError('DIRECTORY_NOT_EMPTY', error) : error;
  }
}

/** The new file takes the mode of the one it replaces, and its owner where we may give files away. */
function keepOwnership(fd: number, replaced: fs.Stats): void {
  const { uid, gid } = fs.fstatSync(fd);
  if (uid !== replaced.uid || gid !== replaced.gid) {
    try {
      fs.fchownSync(fd, replaced.uid, replaced.gid);
    } catch (error) {
      if (systemCodeOf(error) !== 'EPERM' && systemCodeOf(error) !== 'EINVAL') throw error;
    }
  }
  fs.fchmodSync(fd, replaced.mode & PERMISSION_BITS);
}

function joined(folder: HeldFolder, name: string): string {
  return folder.realPath === '/' ? `/${name}` : `${folder.realPath}/${name}`;
}

function isBelow(folder: string, place: string): boolean {
  return place.startsWith(`${folder}/`);
}
