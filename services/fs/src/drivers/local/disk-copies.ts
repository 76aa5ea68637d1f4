import fs from 'node:fs';
import { systemCodeOf } from '@wharf/errors';
import { handlePath } from '@wharf/held-folders';
import { createPace, type Pace } from '@wharf/pace';
import { baseName, isWithin, type MountPath, parentPath } from '@wharf/paths';
import { giveBackBatch, takeBatch } from '../../driver-contract/batches.ts';
import { storageError, throwIfAborted } from '../../driver-contract/storage-error.ts';
import { isReservedName } from '../../driver-contract/temp-names.ts';
import { type ConfinedRoot, type HeldFolder, openChildFile } from './confined-root.ts';
import { carriedLink, isLinkOut } from './disk-links.ts';
import { createFile, type DiskWrites } from './disk-writes.ts';
import { FolderChain, heldPlace } from './folder-chain.ts';
import { namesIn } from './names-in.ts';
import { type PackedEntry, packOne } from './packed-entries.ts';
import { placeFolderExclusively } from './place-entry.ts';
import { syncFolder, syncHandle } from './sync-folder.ts';
import type { TempArea } from './temp-area.ts';

const { COPYFILE_EXCL, COPYFILE_FICLONE_FORCE, O_NOFOLLOW, O_WRONLY } = fs.constants;
const PERMISSION_BITS = 0o777;

/** Copies within the storage. Bytes that the file system can share are shared, others move in slices. For a worker thread. */
export class DiskCopies {
  readonly #root: ConfinedRoot;
  readonly #temp: TempArea;
  readonly #writes: DiskWrites;

  constructor(root: ConfinedRoot, temp: TempArea, writes: DiskWrites) {
    this.#root = root;
    this.#temp = temp;
    this.#writes = writes;
  }

  async copy(from: MountPath, to: MountPath, overwrite: boolean, signal: AbortSignal): Promise<PackedEntry> {
    const { stats } = this.#root.stat(from);
    if (from === to) throw storageError('ENTRY_EXISTS');
    if (isWithin(from, to)) throw storageError('INVALID_ARGUMENT');
    this.#root.holdFolder(parentPath(to)).close();
    return stats.isDirectory() ? this.#copyFolder(from, to, signal) : this.#copyFile(from, to, overwrite, signal);
  }

  async #copyFile(from: MountPath, to: MountPath, overwrite: boolean, signal: AbortSignal): Promise<PackedEntry> {
    const source = this.#root.openFile(from);
    try {
      let isShared = false;
      const { temp, fd } = await this.#writes.beginWrite(to, overwrite, (place) => {
        isShared = share(source.fd, place);
        return isShared ? fs.openSync(place, O_WRONLY | O_NOFOLLOW) : createFile(place);
      });
      let isHandedOver = false;
      try {
        if (!isShared) await copyBytes(source, fd, createPace(signal));
        fs.futimesSync(fd, new Date(), source.stats.mtime);
        fs.fchmodSync(fd, source.stats.mode & PERMISSION_BITS);
        throwIfAborted(signal);
        isHandedOver = true;
        return await this.#writes.publish(temp, fd, to, overwrite);
      } catch (error) {
        if (!isHandedOver) fs.closeSync(fd);
        await this.#temp.discard(temp);
        throw error;
      }
    } finally {
      fs.closeSync(source.fd);
    }
  }

  async #copyFolder(from: MountPath, to: MountPath, signal: AbortSignal): Promise<PackedEntry> {
    const source = this.#root.holdFolder(from);
    const { folder, name } = this.#root.holdParent(to);
    try {
      const place = folder.prefix + name;
      if (fs.lstatSync(place, { throwIfNoEntry: false }) !== undefined) throw storageError('ENTRY_EXISTS');
      await this.#writes.checkFree(folder, to);
      if (`${folder.realPath}/`.startsWith(`${source.realPath}/`)) throw storageError('INVALID_ARGUMENT');
      await this.#assemble(source, folder, to, signal);
      await syncFolder(folder);
      return packOne(fs.lstatSync(place), false);
    } finally {
      source.close();
      folder.close();
    }
  }

  /** Puts the copy of a folder together out of sight, then gives it its name. */
  async #assemble(source: HeldFolder, target: HeldFolder, to: MountPath, signal: AbortSignal): Promise<void> {
    const name = baseName(to) ?? '';
    const { ref } = this.#temp.create(target, parentPath(to), (temp) => fs.mkdirSync(temp, 0o700));
    try {
      await this.#temp.at(ref, async (temp) => {
        const folders = { from: source.realPath, to: `${target.realPath}/${name}`, inner: '' };
        const chains = { source: new FolderChain(), target: new FolderChain() };
        const pace = createPace(signal);
        await within(chains, [heldPlace(source), Buffer.from(temp)], () => copyTree(chains, folders, pace));
        fs.chmodSync(temp, fs.statSync(source.prefix).mode & PERMISSION_BITS);
        throwIfAborted(signal);
        placeFolderExclusively(temp, target.prefix + name);
      });
    } catch (error) {
      await this.#temp.discard(ref);
      throw error;
    }
  }
}

function utf8(latin1: string): string {
  return Buffer.from(latin1, 'latin1').toString();
}

interface OpenSource {
  readonly fd: number;
  readonly stats: fs.Stats;
}

/** The folder that is copied, where its copy will be, and where in both the copying is. */
interface Folders {
  readonly from: string;
  readonly to: string;
  readonly inner: string;
}

/** Where a copy is read and where it is put together. */
interface Chains {
  readonly source: FolderChain;
  readonly target: FolderChain;
}

function within(chains: Chains, [from, to]: readonly [Buffer, Buffer], use: () => Promise<void>): Promise<void> {
  return chains.source.within(from, () => chains.target.within(to, use));
}

async function copyTree(chains: Chains, folders: Folders, pace: Pace): Promise<void> {
  const { source, target } = chains;
  for (const name of namesIn(source.prefix)) {
    await pace.step();
    if (!isReservedName(name.toString())) await copyEntry(chains, name, folders, pace);
  }
  await syncHandle(target.fd);
}

async function copyEntry(chains: Chains, name: Buffer, folders: Folders, pace: Pace): Promise<void> {
  const { source, target } = chains;
  const [from, to] = [source.at(name), target.at(name)];
  const stats = fs.lstatSync(from);
  if (stats.isDirectory()) {
    fs.mkdirSync(to, 0o700);
    const inner = `${folders.inner}/${name.toString('latin1')}`;
    await within(chains, [name, name], () => copyTree(chains, { ...folders, inner }, pace));
    fs.chmodSync(target.at(name), stats.mode & PERMISSION_BITS);
  } else if (stats.isSymbolicLink()) {
    // What leads to a place in the folder leads to the same place in the copy, anything else to where it led.
    const isOut = isLinkOut(from, folders.inner);
    const [here, there] = isOut ? [folders.from + utf8(folders.inner), folders.to + utf8(folders.inner)] : ['', ''];
    fs.symlinkSync(carriedLink(from, here, there), to);
  } else {
    await copyContent(from, to, stats, pace);
  }
}

async function copyContent(from: Buffer, to: Buffer, stats: fs.Stats, pace: Pace): Promise<void> {
  const source = openChildFile(from);
  try {
    const isShared = share(source.fd, to);
    const fd = isShared ? fs.openSync(to, O_WRONLY | O_NOFOLLOW) : createFile(to);
    try {
      if (!isShared) await copyBytes(source, fd, pace);
      fs.futimesSync(fd, new Date(), stats.mtime);
      fs.fchmodSync(fd, stats.mode & PERMISSION_BITS);
      await syncHandle(fd);
    } finally {
      fs.closeSync(fd);
    }
  } finally {
    fs.closeSync(source.fd);
  }
}

async function copyBytes({ fd: source, stats }: OpenSource, fd: number, pace: Pace): Promise<void> {
  const chunk = takeBatch(Math.max(1, stats.size));
  try {
    for (;;) {
      await pace.step();
      const readBytes = fs.readSync(source, chunk);
      if (readBytes === 0) break;
      for (let at = 0; at < readBytes; ) at += fs.writeSync(fd, chunk, at, readBytes - at);
    }
  } finally {
    giveBackBatch(chunk);
  }
}

/** Makes a file of the blocks of another, where the file system can (btrfs, XFS). False: nothing was made. */
function share(source: number, place: string | Buffer): boolean {
  if (process.platform !== 'linux') return false;
  try {
    fs.copyFileSync(handlePath(source), place, COPYFILE_EXCL | COPYFILE_FICLONE_FORCE);
    return true;
  } catch (error) {
    if (systemCodeOf(error) === 'ENOSPC' || systemCodeOf(error) === 'EDQUOT') throw error;
    return false;
  }
}
