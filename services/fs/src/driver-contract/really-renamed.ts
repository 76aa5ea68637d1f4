import { setTimeout as wait } from 'node:timers/promises';
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
    const [left, placed] = await Promise.all([isOneName ? undefined : find(from), find(to)]);
    if (placed && isWhole(source, placed) && !(left && isSame(source, left))) return placed;
  }
  throw storageError('STORAGE_UNAVAILABLE', new Error('the server did not give the name, and says that it did'));
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
