import { AppError } from '@wharf/errors';
import { type EntryName, type MountPath, pathSegments } from '@wharf/paths';
import type { DriverTraits } from './storage-driver.ts';

/**
 * Holds a path that is to be made to what its storage says of names, before any byte is moved.
 *
 * @throws AppError INVALID_ARGUMENT with the name and what is wrong with it
 */
export function requireKeepable(traits: DriverTraits, path: MountPath): void {
  for (const name of pathSegments(path)) {
    const reason = refusalOf(traits, name);
    if (reason !== undefined) throw new AppError('INVALID_ARGUMENT', `the storage does not keep the name [${name}]: ${reason}`);
  }
  const bytes = Buffer.byteLength(path);
  if (traits.maxPathBytes !== undefined && bytes > traits.maxPathBytes)
    throw new AppError('INVALID_ARGUMENT', `the path has ${bytes} bytes; the storage keeps ${traits.maxPathBytes}`);
}

/** Why a storage keeps no entry of this name; undefined: it does. */
export function refusalOf({ refusedNames, maxNameBytes }: DriverTraits, name: EntryName): string | undefined {
  const bytes = Buffer.byteLength(name);
  if (bytes > maxNameBytes) return `it has ${bytes} bytes, of ${maxNameBytes} at most`;
  if (refusedNames === undefined) return undefined;
  const { characters, endings, stems } = refusedNames;
  const character = [...name].find((each) => characters.includes(each));
  if (character !== undefined) return `it has the character ${character}`;
  const last = name.at(-1) ?? '';
  if (endings.includes(last)) return `it ends with ${last === ' ' ? 'a space' : last}`;
  const stem = name.split('.', 1)[0]?.toLowerCase() ?? '';
  return stems.includes(stem) ? 'it is reserved' : undefined;
}
