import fs from 'node:fs';
import { systemCodeOf } from '@wharf/errors';
import { storageError } from '../../driver-contract/storage-error.ts';

/** File systems without hard links say one of these. */
const NO_LINKS = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK', 'EACCES']);

/**
 * Moves a file to a name that must be free, decided by the system in one step: a second name is made, which fails when it is taken, then
 * the first is removed. Where there are no hard links, the name is taken by an empty file first.
 *
 * @throws EEXIST
 */
export function placeExclusively(from: string, to: string): void {
  try {
    fs.linkSync(from, to);
  } catch (error) {
    if (!NO_LINKS.has(systemCodeOf(error) ?? '')) throw error;
    reserveAndRename(from, to);
    return;
  }
  try {
    fs.unlinkSync(from);
  } catch (error) {
    fs.unlinkSync(to);
    throw error;
  }
}

/** The same for a folder: the name is taken by an empty folder, which a rename may replace. @throws ENTRY_EXISTS */
export function placeFolderExclusively(from: string, to: string): void {
  fs.mkdirSync(to, 0o700);
  try {
    fs.renameSync(from, to);
  } catch (error) {
    const errno = systemCodeOf(error);
    if (errno === 'ENOTEMPTY' || errno === 'EEXIST') throw storageError('ENTRY_EXISTS', error);
    try {
      fs.rmdirSync(to);
    } catch {
      // Somebody has put something into it: theirs stays.
    }
    throw error;
  }
}

function reserveAndRename(from: string, to: string): void {
  fs.closeSync(fs.openSync(to, 'wx', 0o600));
  try {
    fs.renameSync(from, to);
  } catch (error) {
    fs.unlinkSync(to);
    throw error;
  }
}
