import { AppError } from '@wharf/errors';
import { childPath, type MountPath } from '../driver-contract/paths.ts';
import { type Entry, type StorageDriver, supports } from '../driver-contract/storage-driver.ts';

/** A place in an opened storage. */
export interface Place {
  readonly driver: StorageDriver;
  readonly path: MountPath;
}

/** What to do about a file that is at the target already: replace it, leave it as it is, or refuse. */
export type Conflict = 'replace' | 'keep' | 'refuse';

/**
 * Copies a file or a folder with all it holds, from any storage to any other, by reading and writing. Folders are merged, empty ones are
 * made too; links to folders are not entered. Each file is written whole or not at all and its size compared with its source.
 *
 * @param source what `stat` says of `from`.
 * @returns the files that were written, for a move that removes them afterwards.
 * @throws AppError ENTRY_EXISTS | UNSUPPORTED_OPERATION (the target takes no writes) | CONTENT_CORRUPT; what was copied by then stays
 */
export async function copyTree(from: Place, source: Entry, to: Place, conflict: Conflict, signal: AbortSignal): Promise<MountPath[]> {
  if (!supports(to.driver, 'write') || !supports(to.driver, 'makeDirectory')) throw new AppError('UNSUPPORTED_OPERATION', 'not support');
  if (!source.isDirectory) return (await copyFile(from, source, { ...to, driver: to.driver }, conflict, signal)) ? [from.path] : [];
  await to.driver.makeDirectory(to.path, { signal });
  if (source.isLink) return [];
  const copied: MountPath[] = [];
  for await (const entry of from.driver.list(from.path, { signal })) {
    const inner = { ...from, path: childPath(from.path, entry.name) };
    copied.push(...(await copyTree(inner, entry, { ...to, path: childPath(to.path, entry.name) }, conflict, signal)));
  }
  return copied;
}

/** @returns false when the file was there already and is kept */
async function copyFile(
  from: Place,
  source: Entry,
  to: Place & { driver: Required<Pick<StorageDriver, 'write'>> },
  conflict: Conflict,
  signal: AbortSignal,
): Promise<boolean> {
  // Aborted at the end in any case: a content that was refused before its first byte still holds its source.
  const reading = new AbortController();
  const content = await from.driver.read(from.path, undefined, { signal: AbortSignal.any([signal, reading.signal]) });
  try {
    const written = await to.driver.write(to.path, content, {
      overwrite: conflict === 'replace',
      sizeBytes: content.entry.sizeBytes,
      modifiedAt: source.modifiedAt,
      signal,
    });
    if (written.sizeBytes !== content.entry.sizeBytes) throw new AppError('CONTENT_CORRUPT', 'the copy has another size than its source');
    return true;
  } catch (error) {
    if (conflict === 'keep' && AppError.is(error, 'ENTRY_EXISTS')) return false;
    throw error;
  } finally {
    reading.abort();
  }
}

/**
 * Removes what copyTree() copied, after a last look at each target: a source goes only when its copy has its size. Folders go when nothing
 * is left in them.
 */
export async function removeMoved(from: Place, source: Entry, to: Place, copied: readonly MountPath[], signal: AbortSignal): Promise<void> {
  if (!supports(from.driver, 'remove')) throw new AppError('UNSUPPORTED_OPERATION', 'not support');
  for (const path of copied) {
    const target = (to.path + path.slice(from.path.length)) as MountPath;
    const [before, after] = await Promise.all([from.driver.stat(path, { signal }), to.driver.stat(target, { signal })]);
    if (before.sizeBytes !== after.sizeBytes)
      throw new AppError('CONTENT_CORRUPT', 'a file changed while it was moved; it stays in both places');
    await from.driver.remove(path, { recursive: false, signal });
  }
  if (source.isDirectory) await removeEmptied(from.driver, from.path, signal);
}

/** @returns true when the folder is gone */
async function removeEmptied(
  driver: StorageDriver & Required<Pick<StorageDriver, 'remove'>>,
  path: MountPath,
  signal: AbortSignal,
): Promise<boolean> {
  let isEmpty = true;
  const folders: MountPath[] = [];
  for await (const entry of driver.list(path, { signal })) {
    if (entry.isDirectory && !entry.isLink) folders.push(childPath(path, entry.name));
    else isEmpty = false;
  }
  for (const folder of folders) if (!(await removeEmptied(driver, folder, signal))) isEmpty = false;
  if (!isEmpty) return false;
  try {
    await driver.remove(path, { recursive: false, signal });
    return true;
  } catch (error) {
    // Something unlisted is still in it, or came meanwhile: it stays.
    if (AppError.is(error, 'DIRECTORY_NOT_EMPTY')) return false;
    throw error;
  }
}
