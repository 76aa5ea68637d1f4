import type { Entry } from '../../driver-contract/storage-driver.ts';

/** The strongest digest there is, else the storage's own version, else time and size. Undefined where that is not known: a time alone may be of two contents. */
export function etagOf(entry: Entry): string | undefined {
  const digest = knownOf(entry)?.replace(/[^\x21\x23\x24\x26-\x2b\x2d-\x7e]/gu, encoded);
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

/** What a tag cannot have, at which lists of tags are parted (a comma), or by which this is told (`%`): two that differ in these alone are two. */
function encoded(letter: string): string {
  return Buffer.from(letter).reduce((text, byte) => `${text}%${byte.toString(16).toUpperCase().padStart(2, '0')}`, '');
}
