import fs from 'node:fs';
import path from 'node:path';
import { storageError } from '../../driver-contract/storage-error.ts';

/** What a root is on. */
export interface RootDisk {
  /** Device number, as the system tells it. */
  readonly device: number;
  /** The folder, at the root or above it, where that disk is mounted; undefined: it is the one of the machine. */
  readonly mountedAt: string | undefined;
}

/** @throws errors of the system */
export function findRootDisk(rootPath: string): RootDisk {
  const { dev: device } = fs.statSync(rootPath);
  for (let place = rootPath; ; ) {
    const above = path.dirname(place);
    if (above === place) return { device, mountedAt: undefined };
    if (fs.statSync(above).dev !== device) return { device, mountedAt: place };
    place = above;
  }
}

/**
 * Where a disk was unplugged, or a network share has ended, its folder is still there and empty, on the disk of the machine: nothing is to be stored there, for
 * that is out of sight when the disk is back, and what is on it is not gone.
 *
 * @returns what the root is on now: another disk may have been mounted there
 * @throws STORAGE_UNAVAILABLE where none is any more
 */
export function requireRootDisk(rootPath: string, disk: RootDisk): RootDisk {
  const device = deviceOf(rootPath);
  if (device === disk.device) return disk;
  if (device === undefined) throw storageError('STORAGE_UNAVAILABLE', new Error('the root folder is not there'));
  const { mountedAt } = disk;
  if (mountedAt !== undefined && deviceOpened(mountedAt) === deviceOf(path.dirname(mountedAt))) {
    throw storageError('STORAGE_UNAVAILABLE', new Error(`no disk is mounted at ${mountedAt}, where the root was on one`));
  }
  return findRootDisk(rootPath);
}

function deviceOf(place: string): number | undefined {
  return fs.statSync(place, { throwIfNoEntry: false })?.dev;
}

/** What was unmounted as nobody used it is mounted again for whoever opens it, not for who looks at it. */
function deviceOpened(folder: string): number | undefined {
  try {
    const fd = fs.openSync(folder, fs.constants.O_RDONLY | fs.constants.O_DIRECTORY);
    try {
      return fs.fstatSync(fd).dev;
    } finally {
      fs.closeSync(fd);
    }
  } catch {
    return deviceOf(folder);
  }
}
