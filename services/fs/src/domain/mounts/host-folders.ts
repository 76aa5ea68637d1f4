import { realpath } from 'node:fs/promises';
import { basename, dirname, join, resolve, sep } from 'node:path';
import type { DriverDefinition } from '../../driver-contract/define-driver.ts';

/** The folders of this machine that an `addition` names, by its items. @throws AppError INVALID_ARGUMENT */
export function foldersOf(definition: DriverDefinition, addition: string): [item: string, folder: string][] {
  const values: unknown = JSON.parse(definition.normaliseAddition(addition));
  if (typeof values !== 'object' || values === null) return [];
  return definition.hostFolders.flatMap(({ name, noFolder }) => {
    const value: unknown = Reflect.get(values, name);
    return typeof value === 'string' && !noFolder.includes(value.trim()) ? [[name, value.trim()]] : [];
  });
}

/** What a storage of this machine shows; undefined: its `addition` names none. @throws AppError INVALID_ARGUMENT */
export function rootOf(definition: DriverDefinition, addition: string): string | undefined {
  return foldersOf(definition, addition).find(([item]) => item === definition.hostFolders[0]?.name)?.[1];
}

/** The path with its links resolved. Segments that do not exist yet stay as they are. */
export async function realPathOf(path: string): Promise<string> {
  const full = resolve(path);
  try {
    return await realpath(full);
  } catch {
    const parent = dirname(full);
    return parent === full ? full : join(await realPathOf(parent), basename(full));
  }
}

/** Whether a path is a folder, or lies in it. */
export function isInside(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder.endsWith(sep) ? folder : `${folder}${sep}`);
}
