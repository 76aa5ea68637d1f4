import { setTimeout as wait } from 'node:timers/promises';
import { AppError } from '@wharf/errors';
import type { MountPath } from '@wharf/paths';
import { storageError } from './storage-error.ts';

/** Some servers show for a while what was: pauses before further looks, in milliseconds. */
export const LATE_LOOKS_MS: readonly number[] = [100, 400, 1_500];

/** What a server says of an entry. */
interface Said {
  readonly isFolder: boolean;
  readonly sizeBytes?: number | undefined;
  readonly modifiedAt: Date;
}

/**
 * What has the new name after a rename. A server may say that it gave it, and not do it, or lose bytes on the way. Whoever believes it would replace what
 * still has the old name. Something else may have that name by now: it looks otherwise. Two names that differ in their spelling only may be one.
 *
 * @param source before @param find what has a name now
 * @throws AppError STORAGE_UNAVAILABLE
 */
export async function findRenamed<Found extends Said>(
  source: Said,
  from: MountPath,
  to: MountPath,
  find: (path: MountPath) => Promise<Found | undefined>,
): Promise<Found> {
  const isOneName = folded(from) === folded(to);
  for (const pauseMs of [0, ...LATE_LOOKS_MS]) {
    if (pauseMs > 0) await wait(pauseMs);
    // A look that fails says nothing: the next one may.
    const [left, placed] = await Promise.all([isOneName ? undefined : find(from), find(to)]).catch(() => []);
    if (placed && isWhole(source, placed) && !(left && isSame(source, left))) return placed;
  }
  throw storageError('STORAGE_UNAVAILABLE', new Error('the server did not give the name, and says that it did'));
}

/**
 * What has a name after something was moved over a file. A server may say that it replaced that file, and not do it: then that file still has the name, and
 * what was to replace it is where it was. Whoever believes it would remove that, the only copy of what was sent.
 *
 * @param isBefore whether something looks like the file that was there @param look what has the name now: where that fails, it is believed @param isLeft whether what was moved is where it was
 * @throws AppError STORAGE_UNAVAILABLE
 */
export async function findReplaced<Found>(
  isBefore: (found: Found) => boolean,
  look: () => Promise<Found | undefined>,
  isLeft: () => Promise<boolean>,
): Promise<Found | undefined> {
  const find = () => look().catch(() => undefined);
  for (const pauseMs of [0, ...LATE_LOOKS_MS]) {
    if (pauseMs > 0) await wait(pauseMs);
    const found = await find();
    if (found === undefined || !isBefore(found)) return found;
    if (!(await isLeft().catch(() => true))) return pauseMs === 0 ? found : find();
  }
  throw storageError('STORAGE_UNAVAILABLE', new Error('the server did not replace the file, and says that it did'));
}

/**
 * Removes an entry, and looks whether it is gone: a server may say so, or deny that there is any, while it shows it. Where a look fails, it is believed.
 *
 * @param before what is removed @param find what has its name now, whether or not the caller has gone @throws AppError STORAGE_UNAVAILABLE: the same; what `remove` throws
 */
export async function removeReally(before: Said, remove: () => Promise<void>, find: () => Promise<Said | undefined>): Promise<void> {
  await remove().catch((error: unknown) => {
    if (!AppError.is(error, 'ENTRY_NOT_FOUND')) throw error;
  });
  for (const pauseMs of [0, ...LATE_LOOKS_MS]) {
    if (pauseMs > 0) await wait(pauseMs);
    const left = await find().catch(() => undefined);
    if (!left || !isSame(before, left)) return;
  }
  throw storageError('STORAGE_UNAVAILABLE', new Error('the server did not remove the entry, and says that it is gone'));
}

const folded = (path: MountPath) => path.normalize('NFC').toLowerCase();

/** A file may have grown since. */
function isWhole(source: Said, placed: Said): boolean {
  return (
    source.isFolder === placed.isFolder && (source.isFolder || (placed.sizeBytes ?? Number.POSITIVE_INFINITY) >= (source.sizeBytes ?? 0))
  );
}

function isSame(source: Said, left: Said): boolean {
  if (source.isFolder !== left.isFolder || source.modifiedAt.getTime() !== left.modifiedAt.getTime()) return false;
  return source.isFolder || source.sizeBytes === undefined || left.sizeBytes === undefined || source.sizeBytes === left.sizeBytes;
}
