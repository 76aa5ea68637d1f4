import { AppError } from '@wharf/errors';
import { createPace, type Pace, sortInTurns } from '@wharf/pace';
import { childPath, compareNames, type EntryName, parentPath, type VirtualPath } from '@wharf/paths';
import type { Entry } from '../../../driver-contract/storage-driver.ts';
import { createWalkBound } from '../../../driver-contract/walk-bound.ts';
import { denied, requirePermission } from '../../access/permissions.ts';
import type { Located } from '../../mounts/mount-table.ts';
import type { Mount } from '../../mounts/mounts.ts';
import { locate, resolvePath } from '../../snapshot/snapshot.ts';
import { childFolder, everythingIn, type WalkedFolder } from './child-folders.ts';
import { callerOf, nameTaken, type Operation, requireCreationOf, requireWrite } from './operation.ts';
import { goingTo, moveItems, type QueueItems } from './place-entries.ts';
import { conflictAt, type Item } from './plan-placement.ts';
import { PLAN_BYTES, PLANS, type PlanShare } from './plan-room.ts';
import { requireNoGuard } from './require-no-guard.ts';
import { requireNothingHidden } from './require-nothing-hidden.ts';
import { rightsOfNow } from './rights-of-now.ts';

export interface RecursiveMove {
  readonly src_dir: string;
  readonly dst_dir: string;
  /**
   * What happens to a file whose name is taken, in the folder or by another file that moves: `skip` leaves it where it is, `overwrite` lets
   * it replace what is there. Anything else is `cancel`: nothing moves.
   */
  readonly conflict_policy: string;
}

/** Files of one call; more are moved folder by folder. */
const MAX_FILES = 100_000;
/** Entries that one call looks at, folders among them. */
const MAX_ENTRIES = 1_000_000;

/** A file of the walk. */
interface WalkedFile {
  readonly path: VirtualPath;
  readonly located: Located<Mount>;
  readonly entry: Entry;
}

/**
 * Moves every file below a folder that the caller sees directly into another folder; folders stay. Files that are in that folder already
 * stay too, as do links to folders. Everything is checked before the first file moves.
 *
 * @param enter the room for the plan; another one is given by tests only. @returns how many files moved or are queued to be
 * @throws AppError ENTRY_EXISTS | ENTRY_NOT_FOUND | NOT_A_DIRECTORY | PERMISSION_DENIED | FAILED_PRECONDITION (too many) | OVERLOADED
 */
export async function recursiveMove(operation: Operation, request: RecursiveMove, queue: QueueItems, enter = PLANS): Promise<number> {
  const [source, target] = [resolvePath(operation.actor, request.src_dir), resolvePath(operation.actor, request.dst_dir)];
  const now = rightsOfNow(operation, [source, target]);
  const share = enter(callerOf(operation));
  try {
    const items = await planRecursiveMove(operation, request, share);
    await moveItems(operation, now, [{ folder: source }, goingTo(target, items)], items, queue);
    return items.length;
  } finally {
    share.leave();
  }
}

/** Checks the whole, and says what is to be done for each file, in an order that does not depend on the storage. Changes nothing. */
async function planRecursiveMove(operation: Operation, request: RecursiveMove, share: PlanShare): Promise<Item[]> {
  const { snapshot, actor } = operation;
  requirePermission(actor, 'move');
  const from = resolvePath(actor, request.src_dir);
  const to = resolvePath(actor, request.dst_dir);
  requireWrite(snapshot, actor, from);
  requireWrite(snapshot, actor, to);
  await requireCreationOf(operation, to);
  snapshot.rules.requireAccess(actor, from, '');

  const root = { path: from, located: snapshot.table.findVirtualFolder(from) ? snapshot.table.locate(from) : locate(snapshot, from) };
  const target: WalkedFolder = { path: to, located: snapshot.table.locate(to, root.located) };
  let taken: Map<EntryName, boolean> | undefined;
  const items: Item[] = [];
  const claimed = new Set<EntryName>();
  for await (const file of filesBelow(operation, root, share, createPace(operation.signal))) {
    if (parentPath(file.path) === to) continue;
    const { name } = file.entry;
    const path = childPath(to, name);
    // Asked before it is known what is there: whoever does not see a name does not learn whether it is taken.
    snapshot.rules.requireEntry(actor, path, 'create');
    taken ??= await namesAt(operation, target, share);
    const isFolder = taken.get(name) === true;
    if (taken.has(name) || claimed.has(name)) {
      if (request.conflict_policy === 'skip') continue;
      if (request.conflict_policy !== 'overwrite' || isFolder) throw nameTaken(name);
    }
    snapshot.rules.requireEntry(actor, file.path, 'write');
    requireNoGuard(operation, file.path);
    if (taken.has(name) || claimed.has(name)) snapshot.rules.requireEntry(actor, path, 'write');
    share.take(PLAN_BYTES.placed(file.path.length, path.length));
    claimed.add(name);
    const { entry, located } = file;
    await requireNothingHidden(operation, { entry, path: file.path, located, target: path });
    const conflict = request.conflict_policy === 'overwrite' ? conflictAt(operation, path) : 'refuse';
    items.push({
      source: file.path,
      target: path,
      entry: file.entry,
      from: file.located,
      to: locate(snapshot, path, file.located),
      conflict,
    });
    if (items.length > MAX_FILES) throw new AppError('FAILED_PRECONDITION', `no more than ${MAX_FILES} files at once`);
  }
  return items;
}

/** Every name in the target folder, hidden ones too, and whether it is a folder's. Empty for one that is not there yet. */
async function namesAt(operation: Operation, folder: WalkedFolder, share: PlanShare): Promise<Map<EntryName, boolean>> {
  const names = new Map<EntryName, boolean>();
  try {
    const { entries, mounted } = await everythingIn(operation, folder, { share });
    const pace = createPace(operation.signal);
    for (const { name, isDirectory } of entries.values()) {
      names.set(name, isDirectory);
      await pace.step();
    }
    for (const name of mounted) names.set(name, true);
  } catch (error) {
    if (!AppError.is(error, 'ENTRY_NOT_FOUND')) throw error;
  }
  return names;
}

/** Files that the caller sees, breadth-first and by name. @throws AppError PERMISSION_DENIED where a rule closes a folder that the caller sees */
async function* filesBelow(operation: Operation, root: WalkedFolder, share: PlanShare, pace: Pace): AsyncGenerator<WalkedFile> {
  const { snapshot, actor } = operation;
  const countWalked = createWalkBound(MAX_ENTRIES);
  const pending: WalkedFolder[] = [root];
  for (const folder of pending) {
    if (!snapshot.rules.mayTouch(actor, folder.path, 'write')) throw denied();
    const { entries, mounted, bytes } = await everythingIn(operation, folder, { share });
    countWalked(entries.size);
    const isVisible = snapshot.rules.listingFilter(actor, folder.path);
    const folders = new Set(mounted.filter((name) => !isVisible || isVisible(name, true)));
    for (const entry of await sortInTurns(await entries.all(pace), (left, right) => compareNames(left.name, right.name), pace)) {
      await pace.step();
      if (folders.has(entry.name) || (isVisible && !isVisible(entry.name, entry.isDirectory))) continue;
      if (!entry.isDirectory && folder.located) {
        const inner = childFolder(operation, folder, entry.name);
        if (inner.located) yield { path: inner.path, located: inner.located, entry };
      } else if (!entry.isLink) folders.add(entry.name);
    }
    for (const name of folders) {
      share.take(PLAN_BYTES.placed(folder.path.length + name.length));
      pending.push(childFolder(operation, folder, name));
    }
    share.leave(bytes);
  }
}
