import fs from 'node:fs';
import { systemCodeOf } from '@wharf/errors';
import { createGate } from '@wharf/pace';
import type { HeldFolder } from './confined-root.ts';

const { O_RDONLY, O_DIRECTORY } = fs.constants;

/** What file systems say that cannot sync a folder alone. */
const NOT_SYNCED = new Set(['EINVAL', 'ENOTSUP', 'EPERM', 'EBADF']);

/** What one thread syncs at once, files and folders: all storages share the I/O threads of the process, and a sync that hangs holds one. */
const MAX_SYNCS = 8;
const syncs = createGate(MAX_SYNCS);

/** Makes what was written to an open file, or happened to the names of an open folder, durable. Waits without blocking the thread. */
export function syncHandle(fd: number): Promise<void> {
  const sync = () =>
    new Promise<void>((resolve, reject) => {
      fs.fsync(fd, (error) => (error === null ? resolve() : reject(error)));
    });
  return syncs.run(sync);
}

/** Makes what happened to the names of a folder durable, where the system can. */
export async function syncFolder(folder: HeldFolder): Promise<void> {
  let fd: number;
  try {
    fd = fs.openSync(folder.prefix, O_RDONLY | O_DIRECTORY);
  } catch {
    // A folder that may be written but not read cannot be synced alone.
    return;
  }
  try {
    await syncHandle(fd);
  } catch (error) {
    if (!NOT_SYNCED.has(systemCodeOf(error) ?? '')) throw error;
  } finally {
    fs.closeSync(fd);
  }
}
