import fs from 'node:fs/promises';
import { AppError } from '@wharf/errors';
import { isMissing } from '@wharf/held-folders';

/** What is left free for what else is kept on a disk that is not for downloads alone, in bytes and in files, and of a small disk so much of the whole: as fs does. */
const RESERVE_BYTES = 256 * 1024 * 1024;
const RESERVE_ENTRIES = 4_096;
const RESERVE_PART = 20;
/** Some tools answer before the files of what they end are closed: so long nothing else is given up, in milliseconds. */
const FREED_AFTER_MS = 2_000;

/** So much of a disk. */
interface Reserve {
  readonly bytes: number;
  /** Files and folders. */
  readonly entries: number;
}

const NOTHING: Reserve = { bytes: 0, entries: 0 };

/** What is to be left free where a folder is. @param beside a folder of ours; undefined, or missing: nothing else is kept there */
export async function reserveOf(folder: string, beside: string | undefined): Promise<Reserve> {
  if (beside === undefined) return NOTHING;
  try {
    const [one, two, { blocks, bsize, files }] = await Promise.all([fs.stat(folder), fs.stat(beside), fs.statfs(folder)]);
    if (one.dev !== two.dev) return NOTHING;
    // Where files have no number it is 0.
    return { bytes: Math.min(RESERVE_BYTES, (blocks * bsize) / RESERVE_PART), entries: Math.min(RESERVE_ENTRIES, files / RESERVE_PART) };
  } catch (error) {
    if (isMissing(error)) return NOTHING;
    throw error;
  }
}

/**
 * To be called while somebody else fills a folder. Where that has taken of the reserve, what is being filled is given up, one after the other until there is
 * room: who asks first, and nobody else until its room may be free.
 *
 * @param giveUp ends it, and frees what it took
 * @throws AppError QUOTA_EXCEEDED: it was given up
 */
export type KeepReserve = (giveUp: () => Promise<void>) => Promise<void>;

/** @param folder where it is missing nothing is in it. @param beside as of `reserveOf`. @param now @internal given by tests only */
export function createReserveKeeper(folder: string, beside: string | undefined, now = () => performance.now()): KeepReserve {
  let nextAtMs = Number.NEGATIVE_INFINITY;
  const isTaken = async () => {
    const disk = await fs.statfs(folder).catch(() => undefined);
    if (disk === undefined) return false;
    const reserve = await reserveOf(folder, beside);
    return disk.bavail * disk.bsize < reserve.bytes || disk.ffree < reserve.entries;
  };
  return async (giveUp) => {
    // Asked again after the look: of several who look at a time one is chosen.
    if (now() < nextAtMs || !(await isTaken()) || now() < nextAtMs) return;
    nextAtMs = now() + FREED_AFTER_MS;
    await giveUp();
    nextAtMs = now() + FREED_AFTER_MS;
    throw new AppError('QUOTA_EXCEEDED', 'the disk that the tools download to has no room beside what Wharf itself needs on it');
  };
}

/**
 * Holds room for what the store is to keep, where that lies in our data folder; undefined where we have none. What it answers is to be called once that is
 * there, or is not going to be.
 *
 * @throws AppError QUOTA_EXCEEDED
 */
export function createRecordRoom(dataFolder: string | undefined): ((bytes: number) => Promise<() => void>) | undefined {
  if (dataFolder === undefined) return undefined;
  let heldBytes = 0;
  return async (bytes) => {
    heldBytes += bytes;
    const letGo = () => {
      heldBytes -= bytes;
    };
    try {
      const disk = await unlessMissing(fs.statfs(dataFolder));
      const reserve = await reserveOf(dataFolder, dataFolder);
      // What others hold may be there already: too much is counted then, and never too little.
      if (disk && disk.bavail * disk.bsize - heldBytes < reserve.bytes)
        throw new AppError('QUOTA_EXCEEDED', 'the disk has no room beside what Wharf itself needs on it');
      return letGo;
    } catch (error) {
      letGo();
      throw error;
    }
  };
}

/** Undefined: there is no such folder here, and nothing of ours on its disk. */
async function unlessMissing<Value>(asked: Promise<Value>): Promise<Value | undefined> {
  try {
    return await asked;
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}
