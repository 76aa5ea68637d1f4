import type { Entry } from './storage-driver.ts';
import { storageError } from './storage-error.ts';

/** Whether a file is still what it was, as far as its storage tells. */
export function isUnchanged(before: Entry, now: Entry): boolean {
  return (
    !before.isDirectory &&
    !now.isDirectory &&
    before.sizeBytes === now.sizeBytes &&
    before.modifiedAt.getTime() === now.modifiedAt.getTime() &&
    before.createdAt?.getTime() === now.createdAt?.getTime() &&
    isSameVersion(before.version, now.version)
  );
}

/** Whether there is something else by now, as far as its storage tells: a folder is another one only where it is none any more. */
export function isOtherEntry(before: Entry, now: Entry): boolean {
  return before.isDirectory ? !now.isDirectory : !isUnchanged(before, now);
}

/** Some answers of a storage have the version of a file, and others do not. */
export function isSameVersion(one: string | undefined, other: string | undefined): boolean {
  return one === undefined || other === undefined || one === other;
}

/** @param before undefined: nobody asks @throws AppError STALE_VERSION: it is another file, or none */
export function requireUnchanged(before: Entry | undefined, now: Entry): void {
  if (before && !isUnchanged(before, now)) throw storageError('STALE_VERSION');
}
