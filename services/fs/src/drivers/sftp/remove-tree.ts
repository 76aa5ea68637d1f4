import { AppError } from '@wharf/errors';
import { createGate, ownText } from '@wharf/pace';
import { childPlace, isOneName, MAX_PLACE_LENGTH } from '../../driver-contract/remote-places.ts';
import type { RemoveOptions } from '../../driver-contract/storage-driver.ts';
import { storageError } from '../../driver-contract/storage-error.ts';
import type { SftpSession } from './client.ts';
import { isRefusal, STATUS } from './errors.ts';
import { folderPages } from './folder-pages.ts';
import { orAbsent } from './remote-root.ts';

/** Files that are removed at once. */
const PARALLEL = 16;
/** Entries that appear while a folder is emptied are removed too, so many times. */
const MAX_ROUNDS = 3;
/** What the names of folders take that wait for their turn, on all levels of one removal, each with what it takes beside its text, in bytes. */
const MAX_WAITING_BYTES = 4 * 1024 * 1024;
const NAME_BYTES = 64;
/** So many of a level wait however much there is above. The others are found by another look, when these are gone. */
const LEAST_WAITING = 4;
/** Looks at one folder: more than one needs that a server lists to its end. */
const MAX_LOOKS = 100_000;

interface Removal extends Pick<RemoveOptions, 'beforeStep'> {
  readonly signal: AbortSignal;
}

/** How far a removal is. */
interface Progress {
  removed: number;
  waitingBytes: number;
}

/** Removes a folder with all it holds, from the bottom up. A link is removed, never followed. @throws AppError DIRECTORY_NOT_EMPTY: something stays */
export async function removeTree(session: SftpSession, place: string, removal: Removal): Promise<void> {
  await removeInside(session, place, removal, { removed: 0, waitingBytes: 0 });
}

async function removeInside(session: SftpSession, place: string, removal: Removal, progress: Progress): Promise<void> {
  requireReachable(place);
  for (let round = 1, looks = 1; ; looks += 1) {
    if (looks > MAX_LOOKS) throw storageError('DIRECTORY_NOT_EMPTY');
    if (!(await removeContent(session, place, removal, progress))) continue;
    try {
      await removal.beforeStep?.(progress.removed);
      await removeEmptyFolder(session, place);
      progress.removed += 1;
      return;
    } catch (error) {
      if (round === MAX_ROUNDS || !AppError.is(error, 'DIRECTORY_NOT_EMPTY')) throw error;
      round += 1;
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

/** @returns whether that was all of it: a server may name folders in folders without end, and only some of them wait */
async function removeContent(session: SftpSession, place: string, removal: Removal, progress: Progress): Promise<boolean> {
  const folders: string[] = [];
  const before = progress.waitingBytes;
  try {
    const isAll = await removeFiles(session, place, removal, progress, folders);
    for (const name of folders) {
      await orAbsent(removeInside(session, childPlace(place, name), removal, progress));
      progress.waitingBytes -= waitingBytes(name);
    }
    return isAll;
  } finally {
    // The folder may be gone before its turn was over.
    progress.waitingBytes = before;
  }
}

/** @param folders gets those that wait. @returns whether these are all */
async function removeFiles(session: SftpSession, place: string, removal: Removal, progress: Progress, folders: string[]): Promise<boolean> {
  const gate = createGate(PARALLEL);
  let isAll = true;
  for await (const page of folderPages(session, place, removal.signal)) {
    const files: string[] = [];
    for (const { name, attrs } of page) {
      if (!isOneName(name)) continue;
      if (attrs.kind !== 'folder') files.push(name);
      else if (folders.length < LEAST_WAITING || progress.waitingBytes < MAX_WAITING_BYTES) {
        requireReachable(childPlace(place, name));
        folders.push(ownText(name));
        progress.waitingBytes += waitingBytes(name);
      } else isAll = false;
    }
    if (files.length === 0) continue;
    await removal.beforeStep?.(progress.removed);
    await Promise.all(files.map((name) => gate.run(() => orAbsent(session.removeFile(childPlace(place, name))))));
    progress.removed += files.length;
  }
  return isAll;
}

function waitingBytes(name: string): number {
  return NAME_BYTES + 2 * name.length;
}

/** @throws AppError INVALID_ARGUMENT */
function requireReachable(place: string): void {
  if (place.length > MAX_PLACE_LENGTH) throw storageError('INVALID_ARGUMENT');
}
