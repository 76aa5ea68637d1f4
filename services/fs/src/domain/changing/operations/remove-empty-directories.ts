import { AppError } from '@wharf/errors';
import { createPace } from '@wharf/pace';
import { nameAt, type VirtualPath } from '@wharf/paths';
import { folderNamed } from '../../../driver-contract/folder-named.ts';
import { supports } from '../../../driver-contract/storage-driver.ts';
import { createWalkBound } from '../../../driver-contract/walk-bound.ts';
import { requirePermission } from '../../access/permissions.ts';
import type { Located } from '../../mounts/mount-table.ts';
import type { Mount } from '../../mounts/mounts.ts';
import { locate, resolvePath } from '../../snapshot/snapshot.ts';
import { childFolder, everythingIn, type WalkedFolder } from './child-folders.ts';
import { hasMore } from './has-more.ts';
import { callerOf, callOf, type Operation, open, unsupported } from './operation.ts';
import { PLANS, type PlanShare } from './plan-room.ts';
import { type Doomed, requireRemoval } from './remove-entries.ts';
import { changeCallOf, rightsOfNow } from './rights-of-now.ts';

/** What a caller has to wait for at most, in entries of the tree, where a storage removes entry by entry. */
const MAX_WALKED = 1_000;

/**
 * Removes every folder below one that is empty, and those that become so; the folder itself stays. Empty means empty: what the caller does
 * not see is content like any other, and so are links, which are not entered, and mount points. Folders whose rules keep the caller out
 * stay as they are.
 *
 * @param queue takes over a large folder of a storage that removes entry by entry. Absent: the caller waits for that
 * @param enter the room for what is listed; another one is given by tests only
 * @throws AppError ENTRY_NOT_FOUND | NOT_A_DIRECTORY | UNSUPPORTED_OPERATION | FAILED_PRECONDITION (a tree without end) | OVERLOADED
 */
export async function removeEmptyDirectories(
  operation: Operation,
  request: { src_dir: string },
  queue?: (folder: Doomed) => Promise<void>,
  enter = PLANS,
): Promise<void> {
  const folder = folderOf(operation, resolvePath(operation.actor, request.src_dir));
  const { path, located } = folder;
  const now = rightsOfNow(operation, [path]);
  if (queue && located && (await takesLong(located, operation))) return await queue({ path, located });
  const share = enter(callerOf(operation));
  try {
    await emptyOut({ operation: now, countWalked: createWalkBound(), share }, folder);
  } finally {
    share.leave();
  }
}

/**
 * The same of a folder by its full path, whatever it holds.
 *
 * @param operation asked for each folder: rights may end on the way
 * @param beforeEach asked before each folder goes; rejecting ends the walk
 * @param maxEntries what a test may lower
 */
export async function removeEmptyFoldersIn(
  operation: () => Promise<Operation>,
  path: VirtualPath,
  beforeEach?: () => Promise<void>,
  maxEntries?: number,
): Promise<void> {
  await emptyOut({ operation, countWalked: createWalkBound(maxEntries), beforeEach }, folderOf(await operation(), path));
}

/** @throws AppError PERMISSION_DENIED */
function folderOf(operation: Operation, path: VirtualPath): WalkedFolder {
  const { snapshot, actor } = operation;
  requireRemoval(operation, path);
  snapshot.rules.requireAccess(actor, path, '');
  return { path, located: snapshot.table.findVirtualFolder(path) ? snapshot.table.locate(path) : locate(snapshot, path) };
}

async function takesLong(located: Located<Mount>, operation: Operation): Promise<boolean> {
  const place = await open(located);
  if (!place.driver.traits.removesStepwise) return false;
  try {
    return await hasMore(place, MAX_WALKED, callOf(operation));
  } catch (error) {
    // The walk itself says what is no folder.
    if (AppError.is(error, 'NOT_A_DIRECTORY')) return false;
    throw error;
  }
}

interface Walk {
  readonly operation: () => Promise<Operation>;
  readonly beforeEach?: (() => Promise<void>) | undefined;
  readonly countWalked: (entries: number) => void;
  /** Room for what is listed on the way down. Absent: a task, of which a few go on at a time. */
  readonly share?: PlanShare;
}

/** @returns true when nothing is left in the folder */
async function emptyOut(walk: Walk, folder: WalkedFolder): Promise<boolean> {
  const { countWalked, share } = walk;
  const operation = await walk.operation();
  const { entries, mounted, bytes } = await everythingIn(operation, folder, { share });
  countWalked(entries.size);
  const folders = new Set(mounted);
  let isEmpty = mounted.length === 0;
  const pace = createPace(operation.signal);
  for (const { name, isDirectory, isLink } of entries.values()) {
    await pace.step();
    if (isDirectory && !isLink) folders.add(name);
    else isEmpty = false;
  }
  for (const name of folders) if (!(await removeWhenEmpty(walk, childFolder(operation, folder, name)))) isEmpty = false;
  share?.leave(bytes);
  return isEmpty;
}

/** @returns true when the folder is gone */
async function removeWhenEmpty(walk: Walk, folder: WalkedFolder): Promise<boolean> {
  const { snapshot, actor } = await walk.operation();
  if (!snapshot.rules.mayTouch(actor, folder.path, 'write')) return false;
  if (snapshot.table.isProtected(folder.path)) {
    // A storage that fails keeps nobody from tidying up the others.
    await emptyOut(walk, folder).catch((error) => {
      if (!AppError.is(error, 'STORAGE_UNAVAILABLE')) throw error;
    });
    return false;
  }
  if (!folder.located || !(await emptyOut(walk, folder))) return false;
  return remove(walk, folder.path, folder.located);
}

/** @returns true when the folder is gone */
async function remove(walk: Walk, folder: VirtualPath, located: Located<Mount>): Promise<boolean> {
  await walk.beforeEach?.();
  // What was in it took its time.
  const operation = await walk.operation();
  const { snapshot, actor, changes } = operation;
  requirePermission(actor, 'delete');
  if (!snapshot.rules.mayTouchWhole(actor, folder, 'write')) return false;
  const { driver, path } = await open(located);
  if (!supports(driver, 'remove')) throw unsupported();
  const since = changes.now();
  try {
    await driver.remove(path, { recursive: false, onlyIf: folderNamed(nameAt(path)), ...changeCallOf(operation) });
  } catch (error) {
    // Something that is not listed is in it, or came meanwhile, also in its place.
    if (AppError.is(error, 'DIRECTORY_NOT_EMPTY') || AppError.is(error, 'STALE_VERSION')) return false;
    if (!AppError.is(error, 'ENTRY_NOT_FOUND')) throw error;
  }
  changes.entryBecame({ path: folder, driver, entry: undefined, since });
  return true;
}
