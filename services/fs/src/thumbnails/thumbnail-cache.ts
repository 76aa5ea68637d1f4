import { randomUUID } from 'node:crypto';
import { constants, mkdir, open, readdir, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { AppError } from '@wharf/errors';
import { createDiskRoom, type DiskRoom } from '../driver-contract/disk-room.ts';

/** Thumbnails in a folder that may hold other things too, and that other processes may use as well. */
export interface ThumbnailCache {
  /** Undefined: it is not kept. */
  read(key: string): Promise<Uint8Array | undefined>;
  /** Makes the folder when it is not there. What finds no room on its disk is not kept. */
  write(key: string, png: Uint8Array): Promise<void>;
}

/** All thumbnails of a folder together. */
const MAX_FOLDER_BYTES = 256 * 1024 * 1024;
/** How full the folder is after it was tidied. */
const KEPT_SHARE = 0.8;
/** The folder is measured at the first write, and again after this part of the limit was written. */
const TIDY_SHARE = 0.05;
/** What a file takes of a disk at least: without it there could be a million small ones, all of which are looked at to tidy the folder. */
const LEAST_BYTES = 4096;
/** More than a thumbnail has whose pixels are kept as they are. */
const MAX_PNG_BYTES = 1024 * 1024;
/** Only files of this form are ours. */
const OUR_FILE = /^wharf-thumbnail-[0-9a-f-]+\.(?:png|part)$/;
const ABANDONED_MS = 3_600_000;

/** @param folder absolute. @param maxBytes the files used longest ago go first */
export function createThumbnailCache(folder: string, maxBytes = MAX_FOLDER_BYTES): ThumbnailCache {
  let untidiedBytes = Number.POSITIVE_INFINITY;
  const room = createDiskRoom(folder);
  const fileOf = (key: string) => join(folder, `wharf-thumbnail-${key}.png`);
  return {
    async read(key) {
      const file = fileOf(key);
      const png = await readKept(file).catch(ignoreAbsence);
      // When it was used last decides how long it stays.
      if (png !== undefined) await utimes(file, new Date(), new Date()).catch(ignoreAbsence);
      return png;
    },
    async write(key, png) {
      const part = join(folder, `wharf-thumbnail-${randomUUID()}.part`);
      await mkdir(folder, { recursive: true, mode: 0o700 });
      if (!(await hasRoom(room, png.byteLength))) return;
      try {
        await writeFile(part, png, { mode: 0o600 });
        await rename(part, fileOf(key));
      } catch (error) {
        await rm(part, { force: true });
        throw error;
      }
      untidiedBytes += Math.max(LEAST_BYTES, png.byteLength);
      if (untidiedBytes < maxBytes * TIDY_SHARE) return;
      untidiedBytes = 0;
      await tidy(folder, maxBytes);
    },
  };
}

/** Where the folder is shown, users write there too. Undefined: it is none that was made here, or an empty one that a crash has left. */
async function readKept(file: string): Promise<Uint8Array | undefined> {
  // One that waits for somebody who writes is not waited for.
  const handle = await open(file, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const found = await handle.stat();
    if (!found.isFile() || found.size === 0 || found.size > MAX_PNG_BYTES) return undefined;
    const { buffer, bytesRead } = await handle.read(new Uint8Array(found.size));
    return buffer.subarray(0, bytesRead);
  } finally {
    await handle.close();
  }
}

async function hasRoom(room: DiskRoom, bytes: number): Promise<boolean> {
  try {
    await room.take(bytes, 1);
    return true;
  } catch (error) {
    if (AppError.is(error, 'QUOTA_EXCEEDED')) return false;
    throw error;
  }
}

async function tidy(folder: string, maxBytes: number): Promise<void> {
  const files: Array<{ path: string; sizeBytes: number; usedAt: number }> = [];
  for (const name of (await readdir(folder)).filter((each) => OUR_FILE.test(each))) {
    const path = join(folder, name);
    const found = await stat(path).catch(ignoreAbsence);
    if (found === undefined) continue;
    if (!name.endsWith('.part')) files.push({ path, sizeBytes: Math.max(LEAST_BYTES, found.size), usedAt: found.mtimeMs });
    else if (Date.now() - found.mtimeMs > ABANDONED_MS) await rm(path, { force: true });
  }
  let total = files.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
  if (total <= maxBytes) return;
  for (const { path, sizeBytes } of files.toSorted((left, right) => left.usedAt - right.usedAt)) {
    if (total <= maxBytes * KEPT_SHARE) return;
    await rm(path, { force: true });
    total -= sizeBytes;
  }
}

function ignoreAbsence(error: unknown): undefined {
  if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
  throw error;
}
