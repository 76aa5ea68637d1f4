import type { Entry } from '../../driver-contract/storage-driver.ts';

/** The strongest digest there is, else the storage's own version, else time and size. Undefined where that is not known: a time alone may be of two contents. */
export function etagOf(entry: Entry): string | undefined {
  // Lists of tags are parted at commas.
  const digest = knownOf(entry)
    ?.replace(/[^\x21\x23-\x7e]/g, '')
    .replaceAll(',', '%2C');
  if (digest !== undefined) return `"${digest}"`;
  return entry.sizeBytes === undefined ? undefined : `"${entry.modifiedAt.getTime().toString(16)}-${entry.sizeBytes.toString(16)}"`;
}

/** Whether another content has another tag: not where the storage tells no date, neither a digest nor a version. */
export function tellsChanges(entry: Entry): boolean {
  return knownOf(entry) !== undefined || isKnown(entry.modifiedAt);
}

/** A storage that knows no date says 1970. */
export function isKnown(modifiedAt: Date): boolean {
  return modifiedAt.getTime() !== 0;
}

function knownOf({ hashes, version }: Entry): string | undefined {
  return hashes?.sha256 ?? hashes?.sha1 ?? hashes?.md5 ?? version;
}
