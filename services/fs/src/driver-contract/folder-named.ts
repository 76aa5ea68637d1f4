import type { EntryName } from '@wharf/paths';
import type { Entry } from './storage-driver.ts';

/** Of what has no date. */
export const NO_DATE = new Date(0);

/** A folder of which nothing but its name is known. */
export function folderNamed(name: EntryName): Entry {
  return { name, isDirectory: true, sizeBytes: 0, modifiedAt: NO_DATE };
}
