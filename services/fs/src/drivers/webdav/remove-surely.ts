import { setTimeout as wait } from 'node:timers/promises';
import { AppError } from '@wharf/errors';
import type { Calls } from '../../driver-contract/calls.ts';
import type { Place, WebdavClient } from './client.ts';

/**
 * A write that was cut off comes to its end on the server a moment later, and makes its file then: what was removed before is there again, and
 * `rclone serve` hides it. So the first removal comes after so many milliseconds, and is followed by others.
 */
const FIRST_AFTER_MS = 150;
const AGAIN_AFTER_MS: readonly number[] = [400, 1_500, 5_000];
/** The most of it for a storage that is being closed. */
const CLOSING_AFTER_MS = 400;

/** Removes a file or a folder of ours that may still be written: soon, and, behind the call, when it comes later. */
export async function removeSurely(client: WebdavClient, place: Place, calls: Calls): Promise<void> {
  await wait(FIRST_AFTER_MS);
  await removeOnce(client, place);
  calls.track(removeLater(client, place, calls.closing));
}

async function removeLater(client: WebdavClient, place: Place, closing: AbortSignal): Promise<void> {
  for (const pauseMs of AGAIN_AFTER_MS) {
    const isClosing = closing.aborted;
    const shortMs = Math.min(pauseMs, CLOSING_AFTER_MS);
    await wait(isClosing ? shortMs : pauseMs, undefined, isClosing ? {} : { signal: closing }).catch(() => undefined);
    await removeOnce(client, place);
  }
}

/** The same for what nobody writes any more. Nothing there is success. */
export async function removeOnce(client: WebdavClient, place: Place): Promise<void> {
  try {
    const there = await client.find(place, {});
    if (there !== undefined) await client.delete(place, there.isFolder, {});
  } catch (error) {
    if (!AppError.is(error, 'ENTRY_NOT_FOUND')) throw error;
  }
}
