import type { Entry } from '../driver-contract/storage-driver.ts';

/** The strongest digest there is, else the storage's own version, else time and size. */
export function etagOf(entry: Entry): string {
  const known = entry.hashes?.sha256 ?? entry.hashes?.sha1 ?? entry.hashes?.md5 ?? entry.version;
  const digest = known?.replace(/[^\x21\x23-\x7e]/g, '');
  return digest === undefined ? `"${entry.modifiedAt.getTime().toString(16)}-${entry.sizeBytes?.toString(16) ?? ''}"` : `"${digest}"`;
}
