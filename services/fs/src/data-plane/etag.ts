import type { Entry } from '../driver-contract/storage-driver.ts';
import { isKnown } from './preconditions.ts';

/** The strongest digest there is, else the storage's own version, else time and size. */
export function etagOf(entry: Entry): string {
  const digest = knownOf(entry)?.replace(/[^\x21\x23-\x7e]/g, '');
  return digest === undefined ? `"${entry.modifiedAt.getTime().toString(16)}-${entry.sizeBytes?.toString(16) ?? ''}"` : `"${digest}"`;
}

/** Whether another content has another tag: not where the storage tells no date, neither a digest nor a version. */
export function tellsChanges(entry: Entry): boolean {
  return knownOf(entry) !== undefined || isKnown(entry.modifiedAt);
}

function knownOf({ hashes, version }: Entry): string | undefined {
  return hashes?.sha256 ?? hashes?.sha1 ?? hashes?.md5 ?? version;
}
