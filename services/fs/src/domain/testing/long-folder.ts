import { parseEntryName } from '@wharf/paths';
import type { Folder } from '../reading/listed-entries.ts';

/** A folder of so many names, long ones unless told, whose entries are told at once. */
export function longFolder(count: number, start = 'x'.repeat(200)): Folder {
  const names = Array.from({ length: count }, (_, index) => parseEntryName(`${start}${index}`));
  const entryOf = (name: Folder['names'][number]) => ({ name, isDirectory: false, sizeBytes: 0, modifiedAt: new Date(0) });
  return { names, isDirectory: () => false, entries: async (wanted) => wanted.map(entryOf) };
}
