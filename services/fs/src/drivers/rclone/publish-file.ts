import { setTimeout as wait } from 'node:timers/promises';
import { AppError } from '@wharf/errors';
import type { MountPath } from '@wharf/paths';
import type { Asides } from '../../driver-contract/asides.ts';
import { isAway } from '../../driver-contract/storage-error.ts';
import type { Place, RcloneClient } from './client.ts';

/** A reader that has ended still has its file open at the server for a moment: what is in use is tried again after so many milliseconds. */
const AGAIN_AFTER_MS: readonly number[] = [50, 200, 500, 1_000];

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
 * Puts a file in the place of another, which steps aside, and comes back where the new one does not get its name: a server that replaces in one step is
 * asked for that by no call of rclone.
 *
 * @param check asked before what stepped aside is removed: where it rejects, that comes back
 * @throws Lost
 */
export async function replaceFile(
  client: RcloneClient,
  from: Place,
  to: Place,
  path: MountPath,
  asides: Asides,
  check: () => Promise<void>,
): Promise<void> {
  const work = async (aside: Place) => {
    await moveSurely(client, to, aside, false);
    await moveSurely(client, from, to, false);
    await check();
  };
  await asides.stepAside(path, work, { source: from });
}
