import { AppError } from '@wharf/errors';
import { supports } from '../../../driver-contract/storage-driver.ts';
import { createWalkBound } from '../../../driver-contract/walk-bound.ts';
import { requirePermission } from '../../access/permissions.ts';
import { locate, resolvePath } from '../../snapshot/snapshot.ts';
import { childFolder, everythingIn, type WalkedFolder } from './child-folders.ts';
import { type Operation, open, requireWrite, unsupported } from './operation.ts';

/**
 * Removes every folder below one that is empty, and those that become so; the folder itself stays. Empty means empty: what the caller does
 * not see is content like any other, and so are links, which are not entered, and mount points. Folders whose rules keep the caller out
 * stay as they are.
 *
 * @param maxEntries what a test may lower
 * @throws AppError ENTRY_NOT_FOUND | NOT_A_DIRECTORY | UNSUPPORTED_OPERATION | FAILED_PRECONDITION (a tree without end)
 */
export async function removeEmptyDirectories(operation: Operation, request: { src_dir: string }, maxEntries?: number): Promise<void> {
  const { snapshot, actor } = operation;
  requirePermission(actor, 'delete');
  const path = resolvePath(actor, request.src_dir);
  requireWrite(snapshot, actor, path);
  snapshot.rules.requireAccess(actor, path, '');
  const located = snapshot.table.findVirtualFolder(path) ? snapshot.table.locate(path) : locate(snapshot, path);
  await emptyOut({ operation, countWalked: createWalkBound(maxEntries) }, { path, located });
}

interface Walk {
  readonly operation: Operation;
  readonly countWalked: (entries: number) => void;
}

/** @returns true when nothing is left in the folder */
async function emptyOut(walk: Walk, folder: WalkedFolder): Promise<boolean> {
  const { operation, countWalked } = walk;
  const { entries, mounted } = await everythingIn(operation, folder);
  countWalked(entries.length);
  const folders = new Set(mounted);
  let isEmpty = mounted.length === 0;
  for (const { name, isDirectory, isLink } of entries) {
    if (isDirectory && !isLink) folders.add(name);
    else isEmpty = false;
  }
  for (const name of folders) if (!(await removeWhenEmpty(walk, childFolder(operation, folder, name)))) isEmpty = false;
  return isEmpty;
}

/** @returns true when the folder is gone */
async function removeWhenEmpty(walk: Walk, folder: WalkedFolder): Promise<boolean> {
  const { snapshot, actor, changes, signal } = walk.operation;
  if (!snapshot.rules.mayTouch(actor, folder.path, 'write')) return false;
  if (snapshot.table.isProtected(folder.path)) {
    // A storage that fails keeps nobody from tidying up the others.
    await emptyOut(walk, folder).catch((error) => {
      if (!AppError.is(error, 'STORAGE_UNAVAILABLE')) throw error;
    });
    return false;
  }
  if (!folder.located || !(await emptyOut(walk, folder))) return false;
  if (!snapshot.rules.mayTouchWhole(actor, folder.path, 'write')) return false;
  const { driver, path } = await open(folder.located);
  if (!supports(driver, 'remove')) throw unsupported();
  const since = changes.now();
  try {
    await driver.remove(path, { recursive: false, signal });
  } catch (error) {
    // Something that is not listed is in it, or came meanwhile.
    if (AppError.is(error, 'DIRECTORY_NOT_EMPTY')) return false;
    if (!AppError.is(error, 'ENTRY_NOT_FOUND')) throw error;
  }
  changes.entryBecame({ path: folder.path, driver, entry: undefined, since });
  return true;
}
