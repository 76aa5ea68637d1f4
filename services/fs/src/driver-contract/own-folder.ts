import { randomUUID } from 'node:crypto';
import { existsSync, linkSync, mkdirSync, readFileSync, unlinkSync, writeFileSync } from 'node:fs';
import { open, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { systemCodeOf } from '@wharf/errors';

/** What is left free for everybody else on the disk, in bytes. */
export const RESERVE_BYTES = 256 * 1024 * 1024;
/** The file that names a folder. */
const ID_FILE = 'id';
/** What is being made in a folder. */
export const UNFINISHED = '.part';

/** A folder of this machine in which fs keeps bytes of others. */
export interface OwnFolder {
  /** Tells this folder from those of other replicas, for ever. */
  readonly id: string;
  readonly path: string;
  /** Whether a name in it is for files of others. */
  holds(name: string): boolean;
  /** Whether the disk has room for so many bytes more. */
  hasRoom(bytes: number): Promise<boolean>;
  /** Makes names durable. */
  sync(): Promise<void>;
}

/** Makes the folder where it is missing. @throws Error of the system: nothing can be kept there */
export function openOwnFolder(path: string): OwnFolder {
  mkdirSync(path, { recursive: true, mode: 0o700 });
  return {
    id: folderId(path),
    path,
    holds: (name) => name !== ID_FILE,
    hasRoom: (bytes) => hasRoomIn(path, bytes),
    async sync() {
      const handle = await open(path);
      try {
        await handle.sync();
      } finally {
        await handle.close();
      }
    },
  };
}

/** Whether the disk of a folder has room for so many bytes more, beside what is left free for everybody else. */
export async function hasRoomIn(path: string, bytes: number): Promise<boolean> {
  const { bavail, bsize } = await statfs(path);
  return bavail * bsize - RESERVE_BYTES >= bytes;
}

/** Two replicas that open one folder at the same time end with one id. */
function folderId(folder: string): string {
  const place = join(folder, ID_FILE);
  if (!existsSync(place)) {
    // Written aside, so that it is there whole or not at all.
    const made = join(folder, `${randomUUID()}${UNFINISHED}`);
    writeFileSync(made, randomUUID(), { flag: 'wx', mode: 0o600, flush: true });
    try {
      linkSync(made, place);
    } catch (error) {
      if (!hasCode(error, 'EEXIST')) throw error;
    } finally {
      unlinkSync(made);
    }
  }
  return readFileSync(place, 'utf8').trim();
}

export const isMissing = (error: unknown): boolean => hasCode(error, 'ENOENT');
export const hasNoSpace = (error: unknown): boolean => ['ENOSPC', 'EDQUOT', 'EFBIG'].some((code) => hasCode(error, code));

export function hasCode(error: unknown, code: string): boolean {
  return systemCodeOf(error) === code;
}
