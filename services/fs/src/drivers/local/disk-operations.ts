import fs from 'node:fs';
import { AppError } from '@wharf/errors';
import type { MountPath } from '@wharf/paths';
import type { NameTraits } from '../../driver-contract/folding.ts';
import type { ByteRange, Entry } from '../../driver-contract/storage-driver.ts';
import type { LocalSettings } from './config.ts';
import { ConfinedRoot } from './confined-root.ts';
import { DiskCopies } from './disk-copies.ts';
import { DiskReads, type OnlyShort } from './disk-reads.ts';
import { DiskWrites, type PlacedWrite, type SmallWrite } from './disk-writes.ts';
import { probeNames } from './probe-names.ts';
import { openRecycleBin } from './recycle-bin.ts';
import type { RootDisk } from './root-disk.ts';
import { TempArea, type TempRef } from './temp-area.ts';

/** What a disk worker can be asked for; arguments and results can be cloned. The signal comes from the pool. */
export type DiskOperations = ReturnType<typeof createDiskOperations>;

/** What the first worker of a storage finds out for all of them. */
export interface DiskFacts {
  /** The root as it was resolved. */
  readonly rootPath: string;
  readonly names: NameTraits;
  readonly disk: RootDisk;
}

/**
 * @param settings with the facts, once they are known
 * @throws AppError for a root or a recycle bin that cannot be used
 */
export function createDiskOperations(settings: LocalSettings & Partial<DiskFacts>) {
  const root = new ConfinedRoot(findRoot(settings.rootPath));
  if (settings.names?.folds) root.guardSpelling();
  if (settings.disk) root.goByDisk(settings.disk);
  const temp = new TempArea(root);
  const reads = new DiskReads(root, temp, settings.showsHidden);
  const bin = settings.recycleBinPath === undefined ? undefined : openRecycleBin(settings.recycleBinPath);
  const writes = new DiskWrites(root, temp, settings.folderMode, bin);
  const copies = new DiskCopies(root, temp, writes);
  return {
    /** Removes what dead processes left; false: something is to be looked at again. */
    sweep: (_signal: AbortSignal) => temp.sweep(),
    /** For later workers of the same storage to begin with. */
    findFacts: async (_signal: AbortSignal): Promise<DiskFacts> => {
      const names = await probeNames(root, temp);
      if (names.folds) root.guardSpelling();
      return { rootPath: root.rootPath, names, disk: root.disk };
    },
    stat: (_signal: AbortSignal, path: MountPath) => reads.stat(path),
    list: (_signal: AbortSignal, path: MountPath, statCount: number, seesAll: boolean, onlyShort: OnlyShort) =>
      reads.list(path, statCount, seesAll, onlyShort),
    listNames: (_signal: AbortSignal, path: MountPath, knownVersion: string | undefined, onlyShort: boolean) =>
      reads.listNames(path, knownVersion, onlyShort),
    statMany: (_signal: AbortSignal, path: MountPath, names: string, ifVersion?: string) => reads.statMany(path, names, ifVersion),
    open: (_signal: AbortSignal, path: MountPath, range: ByteRange | undefined) => reads.open(path, range),
    findOnHost: (_signal: AbortSignal, path: MountPath) => reads.findOnHost(path),
    addUp: (signal: AbortSignal, path: MountPath) => reads.addUp(path, signal),
    sizeUpCopy: (signal: AbortSignal, path: MountPath) => reads.sizeUpCopy(path, signal),
    space: (_signal: AbortSignal) => reads.space(),
    beginWrite: (_signal: AbortSignal, path: MountPath, overwrite: boolean) => writes.beginWrite(path, overwrite),
    writeWhole: (_signal: AbortSignal, file: SmallWrite) => writes.writeWhole(file),
    readMany: (_signal: AbortSignal, paths: readonly MountPath[], maxBytes: number) => reads.readMany(paths, maxBytes),
    writeMany: (_signal: AbortSignal, files: readonly PlacedWrite[], bytes: Uint8Array) => writes.writeMany(files, bytes),
    openDraft: (_signal: AbortSignal, path: MountPath, id: string, create: boolean) => writes.openDraft(path, id, create),
    seal: (_signal: AbortSignal, fd: number, path: MountPath, overwrite: boolean, isDraft: boolean) =>
      writes.seal(fd, path, overwrite, isDraft),
    publish: (_signal: AbortSignal, ref: TempRef, fd: number, path: MountPath, overwrite: boolean) =>
      writes.publish(ref, fd, path, overwrite),
    publishDraft: (_signal: AbortSignal, ref: TempRef, fd: number, path: MountPath, overwrite: boolean) =>
      writes.publishDraft(ref, fd, path, overwrite),
    publishSealed: (_signal: AbortSignal, ref: TempRef, fd: number, path: MountPath, overwrite: boolean, seen: string) =>
      writes.publishSealed(ref, fd, path, overwrite, seen),
    discard: (_signal: AbortSignal, ref: TempRef) => temp.discard(ref),
    makeDirectory: (_signal: AbortSignal, path: MountPath) => writes.makeDirectory(path),
    remove: (signal: AbortSignal, path: MountPath, recursive: boolean, onlyIf?: Entry) => writes.remove(path, recursive, signal, onlyIf),
    rename: (signal: AbortSignal, from: MountPath, to: MountPath, overwrite: boolean) => writes.rename(from, to, overwrite, signal),
    copy: (signal: AbortSignal, from: MountPath, to: MountPath, overwrite: boolean) => copies.copy(from, to, overwrite, signal),
  };
}

function findRoot(rootPath: string): string {
  try {
    const realPath = fs.realpathSync.native(rootPath);
    if (fs.statSync(realPath).isDirectory()) return realPath;
  } catch (error) {
    throw new AppError('FAILED_PRECONDITION', `root folder ${rootPath} not exists`, { cause: error });
  }
  throw new AppError('FAILED_PRECONDITION', `root folder ${rootPath} not exists`);
}
