import fs from 'node:fs/promises';
import { AppError } from '@wharf/errors';
import { createGate } from '@wharf/pace';

/** What is left free for what else is kept on a disk that is not for downloads alone, in bytes. */
const RESERVE_BYTES = 256 * 1024 * 1024;

/** What is to be left free where a folder is. @param beside a folder of ours; undefined, and where it is not there: nothing else is kept there */
export async function reserveOf(folder: string, beside: string | undefined): Promise<number> {
  if (beside === undefined) return 0;
  const [one, two] = await Promise.all([folder, beside].map((each) => fs.stat(each).catch(() => undefined)));
  return one !== undefined && one.dev === two?.dev ? RESERVE_BYTES : 0;
}

/**
 * To be called while somebody else fills a folder. Where that has taken of the reserve, what is being filled is given up, one after the other until there is room.
 *
 * @param giveUp ends it, and frees what it took
 * @throws AppError QUOTA_EXCEEDED: it was given up
 */
export type KeepReserve = (giveUp: () => Promise<void>) => Promise<void>;

/** @param folder where it is missing nothing is in it. @param beside as of `reserveOf` */
export function createReserveKeeper(folder: string, beside: string | undefined): KeepReserve {
  const gate = createGate(1);
  const isTaken = async () => {
    const disk = await fs.statfs(folder).catch(() => undefined);
    return disk !== undefined && disk.bavail * disk.bsize < (await reserveOf(folder, beside));
  };
  return (giveUp) =>
    gate.run(async () => {
      if (!(await isTaken())) return;
      await giveUp();
      throw new AppError('QUOTA_EXCEEDED', 'the disk that the tools download to has no room beside what Wharf itself needs on it');
    });
}
