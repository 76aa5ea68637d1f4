import { AppError } from '@wharf/errors';
import { childPath, type MountPath, nameAt } from '@wharf/paths';
import { EntryMap, takeEntries } from '../../driver-contract/entry-map.ts';
import { folderNamed } from '../../driver-contract/folder-named.ts';
import { type Entry, type StorageDriver, supports } from '../../driver-contract/storage-driver.ts';
import { isUnchanged } from '../../driver-contract/unchanged.ts';
import { copyFile } from './copy-file.ts';
import { hasOtherSize } from './looks-like-copy.ts';
import { createFolderPairs, type FolderPairs, looksLikeOneFile, mayBeOneFile } from './one-file.ts';
import type { OwnCall, Place } from './operations/operation.ts';
import type { Conflict } from './operations/plan-placement.ts';
import { statIfThere } from './stat-if-there.ts';

/** A file that was copied, as it was then. */
interface Copied {
  /** In the storage it comes from. */
  readonly path: MountPath;
  readonly entry: Entry;
  readonly target: Entry;
  /** As its storage told it before it was copied. */
  readonly looked: Entry;
  /** Something was at the target before. */
  readonly replaces: boolean;
}

/**
 * Moves a file or a folder with all it holds, file by file. Folders are merged, empty ones are made too; links to folders are not
 * entered. Each file is written whole or not at all and its size compared with its source. Each source goes after a last look, when it is
 * still what was copied and its copy is there. Folders go when nothing is left in them.
 *
 * @param source what `stat` says of `from`. @param how.onCopied told of each file that is there twice now, in bytes. @param how.mayStill asked before each file
 * is copied, before it gets its name, and before something is removed
 * @returns the file at its new place; undefined of a folder, and of a file that stayed
 * @throws AppError ENTRY_EXISTS | UNSUPPORTED_OPERATION (the target takes no writes, the source no removals) | CONTENT_CORRUPT, and what `mayStill` throws;
 * what was copied stays, and what was not removed
 */
export async function moveTree(
  from: Place,
  source: Entry,
  to: Place,
  conflict: Conflict,
  options: OwnCall,
  { onCopied, mayStill = async () => {} }: { onCopied?: (bytes: number) => void; mayStill?: (() => Promise<void>) | undefined } = {},
): Promise<Entry | undefined> {
  const { driver } = from;
  const call = { ...options, afterWaiting: mayStill };
  if (!supports(driver, 'remove')) throw new AppError('UNSUPPORTED_OPERATION', 'not support');
  const copied: Copied[] = [];
  const note = (one: Copied) => {
    copied.push(one);
    onCopied?.(one.target.sizeBytes ?? one.entry.sizeBytes ?? 0);
  };
  await copyInto({ note, conflict, folderPairs: createFolderPairs(call), call, mayStill }, from, source, to);
  // Asked anew: since a file was copied its folders may have become one.
  const folderPairs = createFolderPairs(call);
  for (const { path, entry, looked, replaces } of copied) {
    const target = (to.path + path.slice(from.path.length)) as MountPath;
    const [now, copy] = await Promise.all([driver.stat(path, call), to.driver.stat(target, call)]);
    if (!isUnchanged(entry, now) || hasOtherSize(now, copy)) throw hasChanged();
    if (replaces && (await folderPairs.areOne({ driver, path }, { driver: to.driver, path: target }))) throw mayBeOneFile();
    await mayStill();
    await driver.remove(path, { ...call, recursive: false, onlyIf: looked }).catch((error: unknown) => {
      throw AppError.is(error, 'STALE_VERSION') ? hasChanged(error) : error;
    });
  }
  await mayStill();
  // Of a link to a folder nothing was copied, and what it leads to is no part of what is moved.
  if (source.isLink && source.isDirectory) await driver.remove(from.path, { ...call, recursive: false, onlyIf: source });
  else if (source.isDirectory) await removeEmptied(driver, from.path, call);
  return source.isDirectory ? undefined : copied[0]?.target;
}

const hasChanged = (cause?: unknown) =>
  new AppError('CONTENT_CORRUPT', 'a file changed while it was moved; it stays in both places', { cause });

/** What all files of one move share while they are copied. */
interface Copying {
  /** Told of each file that was written. */
  readonly note: (copied: Copied) => void;
  readonly conflict: Conflict;
  readonly folderPairs: FolderPairs;
  readonly call: OwnCall;
  readonly mayStill: () => Promise<void>;
}

async function copyInto(copying: Copying, from: Place, source: Entry, to: Place): Promise<void> {
  const { note, conflict, call, mayStill } = copying;
  const { driver } = to;
  if (!supports(driver, 'write') || !supports(driver, 'makeDirectory')) throw new AppError('UNSUPPORTED_OPERATION', 'not support');
  await mayStill();
  if (!source.isDirectory) {
    try {
      const replaces = conflict === 'replace' && (await isOther(copying, from, source, to));
      const looked = await from.driver.stat(from.path, call);
      const { source: entry, target } = await copyFile({
        ...call,
        from,
        to: { ...to, driver },
        said: looked,
        overwrite: conflict === 'replace',
        beforePublish: mayStill,
      });
      note({ path: from.path, entry, looked, target, replaces });
    } catch (error) {
      if (conflict !== 'keep' || !AppError.is(error, 'ENTRY_EXISTS')) throw error;
    }
    return;
  }
  // Listed before the target is made, which may be in it where two storages show one folder: the walk would never end.
  const entries = source.isLink ? new EntryMap() : await takeEntries(from.driver.list(from.path, call));
  await driver.makeDirectory(to.path, call);
  for (const entry of entries.values()) {
    const inner = { ...from, path: childPath(from.path, entry.name) };
    await copyInto(copying, inner, entry, { ...to, path: childPath(to.path, entry.name) });
  }
}

/** Whether another file is at the target. @throws AppError FAILED_PRECONDITION: it may be the source */
async function isOther({ folderPairs, call }: Copying, from: Place, source: Entry, to: Place): Promise<boolean> {
  const there = await statIfThere(to.driver, to.path, call);
  if (!there) return false;
  const isAlike = from.driver !== to.driver && looksLikeOneFile(source, from.driver, there, to.driver);
  if (isAlike || (await folderPairs.areOne(from, to))) throw mayBeOneFile();
  return true;
}

/** @returns true when the folder is gone */
async function removeEmptied(
  driver: StorageDriver & Required<Pick<StorageDriver, 'remove'>>,
  path: MountPath,
  call: OwnCall,
): Promise<boolean> {
  let isEmpty = true;
  const folders: MountPath[] = [];
  for await (const entry of driver.list(path, call)) {
    if (entry.isDirectory && !entry.isLink) folders.push(childPath(path, entry.name));
    else isEmpty = false;
  }
  for (const folder of folders) if (!(await removeEmptied(driver, folder, call))) isEmpty = false;
  if (!isEmpty) return false;
  try {
    await driver.remove(path, { ...call, recursive: false, onlyIf: folderNamed(nameAt(path)) });
    return true;
  } catch (error) {
    // Something unlisted is still in it, or came meanwhile, also in its place: it stays.
    if (AppError.is(error, 'DIRECTORY_NOT_EMPTY') || AppError.is(error, 'STALE_VERSION')) return false;
    throw error;
  }
}
