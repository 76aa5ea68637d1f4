import type { Entry } from './storage-driver.ts';
import { storageError } from './storage-error.ts';

/** Whether a file is still what it was, as far as its storage tells. Of one of which it tells neither size nor date nor version nobody knows. */
export function isUnchanged(before: Entry, now: Entry): boolean {
  const isTold = isToldOtherwise(before.modifiedAt.getTime(), before.version, now.version);
  return looksUnchanged(before, now) && isSameSize(before.sizeBytes, now.sizeBytes, isTold);
}

/** Whether nothing that a storage tells of a file is other than it was: it need not tell anything. */
export function looksUnchanged(before: Entry, now: Entry): boolean {
  return (
    !before.isDirectory &&
    !now.isDirectory &&
    isSameSize(before.sizeBytes, now.sizeBytes, true) &&
    before.modifiedAt.getTime() === now.modifiedAt.getTime() &&
    before.createdAt?.getTime() === now.createdAt?.getTime() &&
    isSameVersion(before.version, now.version)
  );
}

/** Whether there is something else by now, as far as its storage tells: a folder is another one only where it is none any more. */
export function isOtherEntry(before: Entry, now: Entry): boolean {
  return before.isDirectory ? !now.isDirectory : !looksUnchanged(before, now);
}

/** What has no bytes may be told as what has no known size. @param isTold whether something else tells one content from another */
export function isSameSize(before: number | undefined, now: number | undefined, isTold: boolean): boolean {
  return before === undefined || now === undefined ? isTold && (before ?? 0) === (now ?? 0) : before === now;
}

/** Whether a date tells, as one that is known does, or the versions. */
export function isToldOtherwise(modifiedMs: number, one: string | undefined, other: string | undefined): boolean {
  return modifiedMs !== 0 || (one !== undefined && other !== undefined);
}

/** Some answers of a storage have the version of a file, and others do not. */
export function isSameVersion(one: string | undefined, other: string | undefined): boolean {
  return one === undefined || other === undefined || one === other;
}

/**
 * @param before undefined: nobody asks
 * @throws AppError STALE_VERSION: it is another file, or none; where it was a folder or a link to one: it is no such thing
 */
export function requireUnchanged(before: Entry | undefined, now: Entry): void {
  if (!before) return;
  const isSame = before.isDirectory ? now.isDirectory && now.isLink === before.isLink : isUnchanged(before, now);
  if (!isSame) throw storageError('STALE_VERSION');
}
