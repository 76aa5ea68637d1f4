import { setTimeout as wait } from 'node:timers/promises';
import { AppError } from '@wharf/errors';
import type { MountPath } from '@wharf/paths';
import { isAway } from '../../driver-contract/storage-error.ts';
import type { TempFiles } from '../../driver-contract/temp-files.ts';
import { Lost } from '../../driver-contract/temp-files.ts';
import type { Place, RcloneClient } from './client.ts';

/** A reader that has ended still has its file open at the server for a moment: what is in use is tried again after so many milliseconds. */
const AGAIN_AFTER_MS: readonly number[] = [50, 200, 500, 1_000];

/** So long a file that stepped aside is tried to be brought back, where rclone or the server is away: together 16 s. */
const BACK_AFTER_MS: readonly number[] = [250, 500, 1_000, 2_000, 4_000, 8_000];

/** Gives something a free name. Where nobody says how it went, a look does. */
export async function moveSurely(client: RcloneClient, from: Place, to: Place, isFolder: boolean, isRespelled = false): Promise<void> {
  try {
    await whenUnused(() => client.move(from, to, isFolder, {}, isRespelled));
  } catch (error) {
    if (!isAway(error)) throw error;
    const [source, target] = [await client.find(from, {}), await client.find(to, {})];
    if (source !== undefined || target === undefined) throw error;
  }
}

/** Changes something that may be in use for a moment. */
export async function whenUnused(change: () => Promise<void>): Promise<void> {
  for (const pauseMs of AGAIN_AFTER_MS) {
    try {
      return await change();
    } catch (error) {
      if (!AppError.is(error, 'FAILED_PRECONDITION')) throw error;
      await wait(pauseMs);
    }
  }
  await change();
}

/**
 * Sees to it that a file which stepped aside, or may have, has its name again; where another one has the name meanwhile, that one stays. Where rclone
 * has ended just now it waits for the next one.
 *
 * @throws Lost
 */
async function bringBack(client: RcloneClient, aside: Place, to: Place, temps: TempFiles): Promise<void> {
  const attempt = async () => {
    if ((await client.find(aside, {})) === undefined) return;
    if ((await client.find(to, {})) === undefined) await moveSurely(client, aside, to, false);
    else await temps.discard(aside);
  };
  for (const pauseMs of BACK_AFTER_MS) {
    try {
      return await attempt();
    } catch (error) {
      if (!isAway(error)) throw new Lost(error);
      await wait(pauseMs);
    }
  }
  await attempt().catch((cause: unknown) => {
    throw new Lost(cause);
  });
}

/**
 * Puts a file in the place of another, which steps aside, and comes back where the new one does not get its name: a server that replaces in one step is
 * asked for that by no call of rclone.
 *
 * @throws Lost
 */
export async function replaceFile(client: RcloneClient, from: Place, to: Place, temps: TempFiles, folder: MountPath): Promise<void> {
  const aside = temps.newPlace(folder);
  try {
    await moveSurely(client, to, aside, false);
    await moveSurely(client, from, to, false);
  } catch (error) {
    await bringBack(client, aside, to, temps);
    throw error;
  }
  await temps.discard(aside);
}
