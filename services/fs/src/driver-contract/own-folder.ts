import { randomUUID } from 'node:crypto';
import { existsSync, linkSync, mkdirSync, readFileSync, unlinkSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { type AppError, systemCodeOf } from '@wharf/errors';
import { createDiskRoom, type DiskRoom } from './disk-room.ts';

/** The file that names a folder. */
const ID_FILE = 'id';
/** What is being made in a folder. */
export const UNFINISHED = '.part';
/** What one user has of the room of such a folder at most, so that others always find some. */
const USER_SHARE = 3 / 4;

/** What one user has of so many bytes for all. */
export function userShareOf(limitBytes: number): number {
  return Math.floor(limitBytes * USER_SHARE);
}

/** A folder of this machine in which fs keeps bytes of others. */
export interface OwnFolder {
  /** Tells this folder from those of other replicas, for ever. */
  readonly id: string;
  readonly path: string;
  /** Whether a name in it is for files of others. */
  holds(name: string): boolean;
  /** Of its disk: what is announced is to be asked for, and what is written to be taken as it comes. */
  readonly room: DiskRoom;
  /** Makes names durable. */
  sync(): Promise<void>;
}

/** Makes the folder where it is missing. @param refusal of what has no room on its disk. @throws Error of the system: nothing can be kept there */
export function openOwnFolder(path: string, refusal: () => AppError): OwnFolder {
  mkdirSync(path, { recursive: true, mode: 0o700 });
  return {
    id: folderId(path),
    path,
    holds: (name) => name !== ID_FILE,
    room: createDiskRoom(path, { refusal }),
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
