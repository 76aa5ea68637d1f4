import { AppError } from '@wharf/errors';
import { createGate } from '@wharf/pace';
import { childPlace, isOneName, MAX_PLACE_LENGTH } from '../../driver-contract/remote-places.ts';
import type { RemoveOptions } from '../../driver-contract/storage-driver.ts';
import { storageError } from '../../driver-contract/storage-error.ts';
import type { RemoteName, SftpSession } from './client.ts';
import { isRefusal, STATUS } from './errors.ts';
import { folderPages } from './folder-pages.ts';
import { orAbsent } from './remote-root.ts';

/** Files that are removed at once. */
const PARALLEL = 16;
/** Entries that appear while a folder is emptied are removed too, so many times. */
const MAX_ROUNDS = 3;

interface Removal extends Pick<RemoveOptions, 'beforeStep'> {
  readonly signal: AbortSignal;
}

/** Removes a folder with all it holds, from the bottom up. A link is removed, never followed. @throws AppError DIRECTORY_NOT_EMPTY: something stays */
export async function removeTree(session: SftpSession, place: string, removal: Removal): Promise<void> {
  await removeInside(session, place, removal, { removed: 0 });
}

async function removeInside(session: SftpSession, place: string, removal: Removal, count: { removed: number }): Promise<void> {
  if (place.length > MAX_PLACE_LENGTH) throw storageError('INVALID_ARGUMENT');
  for (let round = 1; ; round++) {
    await removeContent(session, place, removal, count);
    try {
      await removal.beforeStep?.(count.removed);
      await removeEmptyFolder(session, place);
      count.removed += 1;
      return;
    } catch (error) {
      if (round === MAX_ROUNDS || !AppError.is(error, 'DIRECTORY_NOT_EMPTY')) throw error;
    }
  }
}

/** @throws AppError DIRECTORY_NOT_EMPTY */
export async function removeEmptyFolder(session: SftpSession, place: string): Promise<void> {
  try {
    await session.removeFolder(place);
  } catch (error) {
    // The server does not say why; that something is in it is all but always the reason.
    if (isRefusal(error, STATUS.FAILURE)) throw storageError('DIRECTORY_NOT_EMPTY', error);
    throw error;
  }
}

async function removeContent(session: SftpSession, place: string, removal: Removal, count: { removed: number }): Promise<void> {
  const gate = createGate(PARALLEL);
  const folders: RemoteName[] = [];
  for await (const page of folderPages(session, place, removal.signal)) {
    const reachable = page.filter(({ name }) => isOneName(name));
    folders.push(...reachable.filter(({ attrs }) => attrs.kind === 'folder'));
    const files = reachable.filter(({ attrs }) => attrs.kind !== 'folder');
    if (files.length === 0) continue;
    await removal.beforeStep?.(count.removed);
    await Promise.all(files.map(({ name }) => gate.run(() => orAbsent(session.removeFile(childPlace(place, name))))));
    count.removed += files.length;
  }
  for (const { name } of folders) await orAbsent(removeInside(session, childPlace(place, name), removal, count));
}
