import { baseName, childPath, type EntryName, isEntryName, parentPath, type VirtualPath } from '@wharf/paths';
import { callOf, type Operation } from '../changing/operations/operation.ts';
import type { Located } from '../mounts/mount-table.ts';
import type { Mount } from '../mounts/mounts.ts';
import { findEntry } from '../reading/get-entry.ts';
import { locate } from '../snapshot/snapshot.ts';

/** A name that is taken gets a number; so many are tried. */
const MAX_NAMES = 1_000;
const MAX_NAME_BYTES = 255;

/** The wanted name and those with a number, as far as they are free. */
export async function* freeNames(
  operation: Operation,
  wanted: VirtualPath,
  beside: Located<Mount>,
): AsyncGenerator<{ path: VirtualPath; place: Located<Mount> }, void> {
  const name = baseName(wanted);
  if (name === undefined) return;
  const directory = parentPath(wanted);
  for (let number = 0; number < MAX_NAMES; number++) {
    const path = number === 0 ? wanted : childPath(directory, numberedName(name, number));
    const place = locate(operation.snapshot, path, beside);
    if (!(await findEntry(operation.snapshot, path, place, callOf(operation)))) yield { path, place };
  }
}

/** `film (1).mkv`; a name that would become too long loses characters before the number. */
function numberedName(name: EntryName, number: number): EntryName {
  const dot = name.lastIndexOf('.');
  const extension = dot > 0 ? name.slice(dot) : '';
  const suffix = ` (${number})${extension}`;
  const characters = [...name.slice(0, name.length - extension.length)];
  while (Buffer.byteLength(characters.join('') + suffix) > MAX_NAME_BYTES && characters.length > 1) characters.pop();
  const numbered = characters.join('') + suffix;
  return isEntryName(numbered) ? numbered : name;
}
