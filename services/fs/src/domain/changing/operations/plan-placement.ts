import { AppError } from '@wharf/errors';
import { createPace } from '@wharf/pace';
import { baseName, childPath, isWithin, parentPath, type VirtualPath } from '@wharf/paths';
import type { Entry } from '../../../driver-contract/storage-driver.ts';
import { requirePermission } from '../../access/permissions.ts';
import type { Located } from '../../mounts/mount-table.ts';
import type { Mount } from '../../mounts/mounts.ts';
import { findEntry, getEntry } from '../../reading/get-entry.ts';
import { locate, resolvePath } from '../../snapshot/snapshot.ts';
import { callOf, innerPaths, nameTaken, type Operation, requireCreationOf, requireUnprotected, requireWrite } from './operation.ts';
import { requireNoGuard } from './require-no-guard.ts';
import { requireNothingHidden } from './require-nothing-hidden.ts';
import { type RightsOfNow, stillAllowed } from './rights-of-now.ts';

/** What to do about a file that is at the target already: replace it, leave it as it is, or refuse. */
export type Conflict = 'replace' | 'keep' | 'refuse';

export interface Placement {
  readonly src_dir: string;
  readonly dst_dir: string;
  readonly names: readonly string[];
  readonly overwrite: boolean;
  readonly skip_existing: boolean;
  /** Copy only: merge into folders that are there, and leave files that are there. */
  readonly merge?: boolean;
}

/** One entry with its way from here to there. The storages are chosen once, for the look and for the deed. */
export interface Item {
  readonly source: VirtualPath;
  readonly target: VirtualPath;
  readonly entry: Entry;
  readonly from: Located<Mount>;
  readonly to: Located<Mount>;
  readonly conflict: Conflict;
}

/**
 * Entries that are looked at together, where they come from and where they go: a storage of this machine answers for all of them at once. Whole folders are
 * gone through one after the other: all listings of a storage share one room.
 */
const LOOKS_AT_ONCE = 16;

/** Checks a whole move or copy, and says what is to be done for each entry. Changes nothing. */
export async function planPlacement(operation: Operation, request: Placement, verb: 'move' | 'copy'): Promise<Item[]> {
  const { snapshot, actor } = operation;
  if (request.names.length === 0) throw new AppError('INVALID_ARGUMENT', 'Empty file names');
  const from = resolvePath(actor, request.src_dir);
  const to = resolvePath(actor, request.dst_dir);
  requireFolders(operation, from, to, verb);
  await requireCreationOf(operation, to);
  if (from === to) throw new AppError('FAILED_PRECONDITION', `${verb} in place`);

  const items = new Map<VirtualPath, Item>();
  const pace = createPace(operation.signal);
  const look = async (source: VirtualPath) => {
    if (verb === 'move') requireUnprotected(snapshot, actor, source, 'move');
    const name = baseName(source);
    if (name === undefined) throw new AppError('INVALID_ARGUMENT', 'invalid file name []');
    const target = childPath(to, name);
    requirePlaceable(operation, source, target, verb);
    if (isWithin(source, target)) throw new AppError('FAILED_PRECONDITION', `${verb} of a folder into itself`);
    return lookAtBoth(operation, source, target);
  };
  const take = async (item: Item) => {
    if (items.size === 0) await requireNoFile(operation, to, item.to);
    // Two of one name would end in one place: the later one would replace the earlier.
    if (!items.has(item.target)) items.set(item.target, item);
    else if (!request.skip_existing) throw nameTaken(baseName(item.target));
  };
  const sources = await innerPaths(from, request.names, pace);
  for (let start = 0; start < sources.length; start += LOOKS_AT_ONCE) {
    await pace.step();
    // The first that is refused, in their order, refuses the whole.
    for (const looked of await Promise.allSettled(sources.slice(start, start + LOOKS_AT_ONCE).map(look))) {
      if (looked.status === 'rejected') throw looked.reason;
      const item = await planItem(operation, request, looked.value, verb === 'copy');
      if (item) await take(item);
    }
  }
  return [...items.values()];
}

/** What is asked of both folders, for the plan and for each step that comes late. @throws AppError PERMISSION_DENIED */
function requireFolders({ snapshot, actor }: Operation, from: VirtualPath, to: VirtualPath, verb: 'move' | 'copy'): void {
  snapshot.rules.requireAccess(actor, from, '');
  if (verb === 'move') requireWrite(snapshot, actor, from);
  requireWrite(snapshot, actor, to);
}

/** The same of one entry. @throws AppError PERMISSION_DENIED; FAILED_PRECONDITION for the admin */
function requirePlaceable(operation: Operation, source: VirtualPath, target: VirtualPath, verb: 'move' | 'copy'): void {
  const { actor } = operation;
  const { rules } = operation.snapshot;
  rules.requireEntry(actor, source, verb === 'move' ? 'write' : 'read');
  if (verb === 'move') requireNoGuard(operation, source);
  rules.requireEntry(actor, target, 'create');
}

/** Nothing can be put into a file. @param inner something in the folder. @throws AppError NOT_A_DIRECTORY */
async function requireNoFile(operation: Operation, folder: VirtualPath, inner: Located<Mount>): Promise<void> {
  const entry = await findEntry(operation.snapshot, folder, { ...inner, path: parentPath(inner.path) }, callOf(operation));
  if (entry && !entry.isDirectory) throw new AppError('NOT_A_DIRECTORY', 'not a folder');
}

/** An entry and what has its name where it goes. */
interface Looked extends Omit<Item, 'conflict'> {
  readonly taken: Entry | undefined;
}

/** @throws AppError ENTRY_NOT_FOUND */
async function lookAtBoth(operation: Operation, source: VirtualPath, target: VirtualPath): Promise<Looked> {
  const { snapshot } = operation;
  const call = callOf(operation);
  const found = await getEntry(snapshot, source, call);
  const from = found.located ?? locate(snapshot, source);
  const to = locate(snapshot, target, from);
  return { source, target, entry: found.entry, from, to, taken: await findEntry(snapshot, target, to, call) };
}

/** @returns undefined for an entry that is left where it is, because its name is taken. @throws AppError ENTRY_EXISTS | PERMISSION_DENIED */
async function planItem(
  operation: Operation,
  request: Placement,
  { taken, ...item }: Looked,
  isCopied: boolean,
): Promise<Item | undefined> {
  const { snapshot, actor } = operation;
  const { source, target, entry } = item;
  await requireNothingHidden(operation, { entry, path: source, located: item.from, target, isCopied });
  if (request.overwrite) {
    // Whoever replaces something must be allowed to change what was there.
    if (taken) snapshot.rules.requireEntry(actor, target, 'write');
    return { ...item, conflict: conflictAt(operation, target) };
  }
  const conflict = request.merge ? 'keep' : 'refuse';
  if (!taken) return { ...item, conflict };
  if (request.skip_existing || (request.merge && !taken.isDirectory)) return undefined;
  if (request.merge && entry.isDirectory) return { ...item, conflict };
  throw nameTaken(baseName(target));
}

/**
 * What is asked of a move or copy again: before a step that comes late, and after one that took long.
 *
 * @throws AppError PERMISSION_DENIED; FAILED_PRECONDITION for the admin
 */
export function requirePlacement(operation: Operation, { source, target }: Item, verb: 'move' | 'copy'): void {
  requirePermission(operation.actor, verb);
  requireFolders(operation, parentPath(source), parentPath(target), verb);
  requirePlaceable(operation, source, target, verb);
}

/**
 * The operation of now, which may place this entry, too.
 *
 * @param planned the operation of then. @throws AppError PERMISSION_DENIED; FAILED_PRECONDITION for the admin
 */
export function mayStillPlace(planned: Operation, now: RightsOfNow, item: Item, verb: 'move' | 'copy'): Promise<Operation> {
  const { source: path, target, entry, from: located } = item;
  return stillAllowed(
    planned,
    now,
    (operation) => requirePlacement(operation, item, verb),
    (operation) => requireNothingHidden(operation, { entry, path, located, target, isCopied: verb === 'copy' }),
  );
}

/** With `overwrite`: what appears at a free name after the look is replaced only where the caller may change it. */
export function conflictAt({ snapshot, actor }: Operation, target: VirtualPath): Conflict {
  return snapshot.rules.mayTouchWhole(actor, target, 'write') ? 'replace' : 'refuse';
}
