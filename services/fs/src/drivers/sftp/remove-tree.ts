import { createGate } from '@wharf/pace';
import { childPlace, isOneName, MAX_PLACE_LENGTH } from '../../driver-contract/remote-places.ts';
import { storageError } from '../../driver-contract/storage-error.ts';
import type { RemoteName, SftpSession } from './client.ts';
import { isRefusal, STATUS } from './errors.ts';
import { folderPages } from './folder-pages.ts';
import { orAbsent } from './remote-root.ts';

/** Files that are removed at once. */
const PARALLEL = 16;
/** Entries that appear while a folder is emptied are removed too, so many times. */
const MAX_ROUNDS = 3;
/** Removes a folder with all it holds, from the bottom up. A link is removed, never followed. @throws AppError DIRECTORY_NOT_EMPTY: something stays */
export async function removeTree(session: SftpSession, place: string, signal: AbortSignal): Promise<void> {
  if (place.length > MAX_PLACE_LENGTH) throw storageError('INVALID_ARGUMENT');
  for (let round = 1; ; round++) {
    await removeContent(session, place, signal);
    try {
      return await removeEmptyFolder(session, place);
    } catch (error) {
      if (round === MAX_ROUNDS) throw error;
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

async function removeContent(session: SftpSession, place: string, signal: AbortSignal): Promise<void> {
  const gate = createGate(PARALLEL);
  const folders: RemoteName[] = [];
  for await (const page of folderPages(session, place, signal)) {
    const reachable = page.filter(({ name }) => isOneName(name));
    folders.push(...reachable.filter(({ attrs }) => attrs.kind === 'folder'));
    const files = reachable.filter(({ attrs }) => attrs.kind !== 'folder');
    await Promise.all(files.map(({ name }) => gate.run(() => orAbsent(session.removeFile(childPlace(place, name))))));
  }
  for (const { name } of folders) await orAbsent(removeTree(session, childPlace(place, name), signal));
}
