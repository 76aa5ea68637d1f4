import fs from 'node:fs/promises';
import { AppError } from '@wharf/errors';
import { isMissing } from '@wharf/held-folders';

/** What is left free for what else is kept on a disk that is not for downloads alone, in bytes and in files, and of a small disk so much of the whole: as fs does. */
const RESERVE_BYTES = 256 * 1024 * 1024;
const RESERVE_ENTRIES = 4_096;
const RESERVE_PART = 20;
/** Some tools answer before the files of what they end are closed: so long nothing else is given up, in milliseconds. */
const FREED_AFTER_MS = 2_000;

/** What was downloaded and is of no more use may stay while so much is free for what others download, and of a small disk so much of the whole. */
const KEPT_LEAVE_BYTES = 10 * 1024 ** 3;
const KEPT_LEAVE_ENTRIES = 100_000;
const KEPT_LEAVE_PART = 4;

/** So much of a disk. */
interface Room {
  readonly bytes: number;
  /** Files and folders. */
  readonly entries: number;
}

/**
 * What is left of the disk of a folder beyond the reserve: less than 0 where that is taken of.
 *
 * @param beside a folder of ours, for which it is kept on the same disk; undefined, or missing: nothing else is kept there
 * @throws ENOENT: there is no such folder
 */
export async function leftBeyondReserve(folder: string, beside: string | undefined): Promise<Room> {
  const { bavail, bsize, blocks, ffree, files } = await fs.statfs(folder);
  const left = { bytes: bavail * bsize, entries: ffree };
  if (beside === undefined) return left;
  const [one, two] = await Promise.all([fs.stat(folder), unlessMissing(fs.stat(beside))]);
  if (one.dev !== two?.dev) return left;
  return {
    bytes: left.bytes - Math.min(RESERVE_BYTES, (blocks * bsize) / RESERVE_PART),
    // Where files have no number it is 0.
    entries: left.entries - Math.min(RESERVE_ENTRIES, files / RESERVE_PART),
  };
}

/** Whether what was downloaded into a folder may stay when nothing needs it any more: nobody else takes it away. */
export async function mayKeep(folder: string): Promise<boolean> {
  // Where this replica cannot look, another one may.
  const disk = await fs.statfs(folder).catch(() => undefined);
  if (disk === undefined) return true;
  const { bavail, bsize, blocks, ffree, files } = disk;
  return (
    bavail >= Math.min(KEPT_LEAVE_BYTES / bsize, blocks / KEPT_LEAVE_PART) && ffree >= Math.min(KEPT_LEAVE_ENTRIES, files / KEPT_LEAVE_PART)
  );
}

/**
 * To be called while somebody else fills a folder. Where that has taken of the reserve, what is being filled is given up, one after the other until there is
 * room: who asks first, and nobody else until its room may be free.
 *
 * @param giveUp ends it, and frees what it took
 * @throws AppError QUOTA_EXCEEDED: it was given up
 */
export type KeepReserve = (giveUp: () => Promise<void>) => Promise<void>;

/** @param folder where it is missing nothing is in it. @param beside as of `leftBeyondReserve`. @param now given by tests only */
export function createReserveKeeper(folder: string, beside: string | undefined, now = () => performance.now()): KeepReserve {
  let nextAtMs = Number.NEGATIVE_INFINITY;
  const isTaken = async () => {
    const left = await leftBeyondReserve(folder, beside).catch(() => undefined);
    return left !== undefined && Math.min(left.bytes, left.entries) < 0;
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
      const left = await unlessMissing(leftBeyondReserve(dataFolder, dataFolder));
      // What others hold may be there already: too much is counted then, and never too little.
      if (left && left.bytes < heldBytes) throw new AppError('QUOTA_EXCEEDED', 'the disk has no room beside what Wharf itself needs on it');
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
