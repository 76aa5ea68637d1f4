import { AppError } from '@wharf/errors';
import {
  baseName,
  childPath,
  type EntryName,
  isWithin,
  parentPath,
  parseEntryName,
  parseVirtualPath,
  type VirtualPath,
} from '@wharf/paths';
import { type Entry, type StorageDriver, supports } from '../driver-contract/storage-driver.ts';
import type { Changes } from './changes.ts';
import { findEntry, getEntry } from './get-entry.ts';
import type { Located } from './mount-table.ts';
import type { Mount } from './mounts.ts';
import { type Actor, denied, PERMISSION, requirePermission } from './permissions.ts';
import { type Conflict, copyTree, moveTree, type Place } from './transfer.ts';
import { locate, resolvePath, type Tree } from './tree.ts';

/** Whoever changes something, and under which configuration. */
export interface Operation {
  readonly tree: Tree;
  readonly actor: Actor;
  readonly changes: Changes;
  readonly signal: AbortSignal;
}

/** Makes a folder and what is missing above it. An existing folder is success. */
export async function makeDirectory({ tree, actor, changes, signal }: Operation, raw: string): Promise<void> {
  const path = resolvePath(actor, raw);
  requireCreation(tree, actor, parentPath(path));
  if (tree.table.isProtected(path)) return;
  const { driver, path: place } = await open(locate(tree, path));
  if (!supports(driver, 'makeDirectory')) throw unsupported();
  try {
    await driver.makeDirectory(place, { signal });
  } catch (error) {
    // The family's code for this is 500, unlike that of every other name that is taken.
    if (AppError.is(error, 'ENTRY_EXISTS')) throw new AppError('FAILED_PRECONDITION', 'file exists', { cause: error });
    throw error;
  }
  changes.entryChanged(path);
}

/** Gives an entry another name in its folder. With `overwrite` a file of that name is replaced. */
export async function renameEntry(operation: Operation, request: { path: string; name: string; overwrite: boolean }): Promise<void> {
  const { tree, actor, signal } = operation;
  requirePermission(actor, PERMISSION.rename);
  const path = resolvePath(actor, request.path);
  const name = parseEntryName(request.name);
  requireUnprotected(tree, actor, path, 'rename');
  requireWrite(tree, actor, parentPath(path));
  tree.rules.requireEntry(actor, path, 'write');
  const found = await getEntry(tree, path, signal);
  if (baseName(path) === name) return;
  const target = childPath(parentPath(path), name);
  tree.rules.requireEntry(actor, target, 'create');
  const from = found.located ?? locate(tree, path);
  const to = locate(tree, target, from);
  if ((!request.overwrite || tree.table.isProtected(target)) && (await findEntry(tree, target, to, signal))) throw nameTaken(name);
  await moveOne(operation, { source: path, target, entry: found.entry, from, to, conflict: request.overwrite ? 'replace' : 'refuse' });
}

export interface Placement {
  readonly src_dir: string;
  readonly dst_dir: string;
  readonly names: readonly string[];
  readonly overwrite: boolean;
  readonly skip_existing: boolean;
  /** Copy only: merge into folders that are there, and leave files that are there. */
  readonly merge?: boolean;
}

/** Moves entries into another folder of any storage. Everything is checked before the first one moves. */
export async function moveEntries(operation: Operation, request: Placement): Promise<void> {
  requirePermission(operation.actor, PERMISSION.move);
  for (const item of await planPlacement(operation, request, 'move')) await moveOne(operation, item);
}

/** Copies entries into another folder of any storage. Everything is checked before the first one is copied. */
export async function copyEntries(operation: Operation, request: Placement): Promise<void> {
  requirePermission(operation.actor, PERMISSION.copy);
  for (const item of await planPlacement(operation, request, 'copy')) await copyOne(operation, item);
}

/** Removes entries of a folder, with all they hold. One that is not there is success. */
export async function removeEntries(operation: Operation, request: { dir: string; names: readonly string[] }): Promise<void> {
  const { tree, actor, changes, signal } = operation;
  requirePermission(actor, PERMISSION.remove);
  const directory = resolvePath(actor, request.dir);
  requireWrite(tree, actor, directory);
  const paths = innerPaths(directory, request.names);
  for (const path of paths) {
    requireUnprotected(tree, actor, path, 'delete');
    requireWrite(tree, actor, parentPath(path));
    tree.rules.requireEntry(actor, path, 'write');
  }
  for (const path of paths) {
    const { driver, path: place } = await open(locate(tree, path));
    if (!supports(driver, 'remove')) throw unsupported();
    try {
      await driver.remove(place, { recursive: true, signal });
    } catch (error) {
      if (!AppError.is(error, 'ENTRY_NOT_FOUND') && !AppError.is(error, 'NOT_A_DIRECTORY')) throw error;
    } finally {
      // Of a folder that failed something may be gone.
      changes.entryChanged(path);
    }
  }
}

/** One entry with its way from here to there. The storages are chosen once, for the look and for the deed. */
interface Item {
  readonly source: VirtualPath;
  readonly target: VirtualPath;
  readonly entry: Entry;
  readonly from: Located<Mount>;
  readonly to: Located<Mount>;
  readonly conflict: Conflict;
}

async function planPlacement(operation: Operation, request: Placement, verb: 'move' | 'copy'): Promise<Item[]> {
  const { tree, actor } = operation;
  if (request.names.length === 0) throw new AppError('INVALID_ARGUMENT', 'Empty file names');
  const from = resolvePath(actor, request.src_dir);
  const to = resolvePath(actor, request.dst_dir);
  tree.rules.requireAccess(actor, from, '');
  if (verb === 'move') requireWrite(tree, actor, from);
  requireWrite(tree, actor, to);
  if (from === to) throw new AppError('FAILED_PRECONDITION', `${verb} in place`);

  const items = new Map<VirtualPath, Item>();
  for (const source of innerPaths(from, request.names)) {
    if (verb === 'move') requireUnprotected(tree, actor, source, 'move');
    // A name of several segments leads into another folder, which has a say of its own.
    tree.rules.requireAccess(actor, parentPath(source), '');
    if (verb === 'move') requireWrite(tree, actor, parentPath(source));
    tree.rules.requireEntry(actor, source, verb === 'move' ? 'write' : 'read');
    const name = baseName(source);
    if (name === undefined) throw new AppError('INVALID_ARGUMENT', 'invalid file name []');
    const target = childPath(to, name);
    tree.rules.requireEntry(actor, target, 'create');
    if (source === target) throw new AppError('FAILED_PRECONDITION', `${verb} in place`);
    if (isWithin(source, target)) throw new AppError('FAILED_PRECONDITION', `${verb} of a folder into itself`);
    const item = await planItem(operation, request, source, target);
    if (item === undefined) continue;
    // Two of one name would end in one place: the later one would replace the earlier.
    if (items.has(target)) {
      if (request.skip_existing) continue;
      throw nameTaken(name);
    }
    items.set(target, item);
  }
  return [...items.values()];
}

/** @returns undefined for an entry that is left where it is, because its name is taken. @throws AppError ENTRY_NOT_FOUND | ENTRY_EXISTS */
async function planItem(
  { tree, signal }: Operation,
  request: Placement,
  source: VirtualPath,
  target: VirtualPath,
): Promise<Item | undefined> {
  const found = await getEntry(tree, source, signal);
  const from = found.located ?? locate(tree, source);
  const to = locate(tree, target, from);
  const item = { source, target, entry: found.entry, from, to };
  if (request.overwrite) return { ...item, conflict: 'replace' };
  const conflict = request.merge ? 'keep' : 'refuse';
  const taken = await findEntry(tree, target, to, signal);
  if (!taken) return { ...item, conflict };
  if (request.skip_existing || (request.merge && !taken.isDirectory)) return undefined;
  if (request.merge && found.entry.isDirectory) return { ...item, conflict };
  throw nameTaken(baseName(target));
}

async function moveOne({ changes, signal }: Operation, { source, target, entry, from, to, conflict }: Item): Promise<void> {
  const [here, there] = [await open(from), await open(to)];
  try {
    if (from.mount.storage._id === to.mount.storage._id && supports(here.driver, 'rename')) {
      try {
        if (parentPath(source) !== parentPath(target)) await ensureFolder(there, signal);
        await here.driver.rename(here.path, there.path, { overwrite: conflict === 'replace', signal });
        return;
      } catch (error) {
        if (!needsCopying(error, conflict)) throw error;
      }
    }
    await moveTree(here, entry, there, conflict, signal);
  } catch (error) {
    throw named(error, baseName(target));
  } finally {
    // Of what failed a part may be there, or gone.
    changes.entryChanged(source, target);
  }
}

async function copyOne({ changes, signal }: Operation, { target, entry, from, to, conflict }: Item): Promise<void> {
  const [here, there] = [await open(from), await open(to)];
  try {
    if (from.mount.storage._id === to.mount.storage._id && supports(here.driver, 'copy') && conflict !== 'keep') {
      try {
        await ensureFolder(there, signal);
        await here.driver.copy(here.path, there.path, { overwrite: conflict === 'replace', signal });
        return;
      } catch (error) {
        if (!needsCopying(error, conflict)) throw error;
      }
    }
    await copyTree(here, entry, there, conflict, signal);
  } catch (error) {
    throw named(error, baseName(target));
  } finally {
    changes.entryChanged(target);
  }
}

/** The storage cannot do it in one step: this pair, or a folder over a folder, which is merged. */
function needsCopying(error: unknown, conflict: Conflict): boolean {
  if (AppError.is(error, 'UNSUPPORTED_OPERATION')) return true;
  return conflict === 'replace' && (AppError.is(error, 'DIRECTORY_NOT_EMPTY') || AppError.is(error, 'ENTRY_EXISTS'));
}

/** Makes the folder that will hold the target: clients may name one that is not there yet. */
async function ensureFolder({ driver, path }: Place, signal: AbortSignal): Promise<void> {
  const parent = parentPath(path);
  if (parent !== '/' && supports(driver, 'makeDirectory')) await driver.makeDirectory(parent, { signal });
}

/** Paths that names mean below a folder; a name may be a relative path of several segments. @throws AppError INVALID_ARGUMENT | UNSAFE_PATH */
function innerPaths(directory: VirtualPath, names: readonly string[]): VirtualPath[] {
  if (names.length === 0) throw new AppError('INVALID_ARGUMENT', 'Empty file names');
  return names.map((name) => {
    const inner = parseVirtualPath(name);
    if (inner === '/') throw new AppError('INVALID_ARGUMENT', `invalid file name [${name}]`);
    return directory === '/' ? inner : parseVirtualPath(directory + inner);
  });
}

async function open(located: Located<Mount>): Promise<Place & { driver: StorageDriver }> {
  return { driver: await located.mount.driver(), path: located.path };
}

/** Whether the caller may make entries in a folder: by his permission or the folder's rule. @throws AppError PERMISSION_DENIED */
export function requireCreation(tree: Tree, actor: Actor, directory: VirtualPath): void {
  if (!tree.rules.canCreateIn(actor, directory)) throw denied();
}

function requireWrite(tree: Tree, actor: Actor, directory: VirtualPath): void {
  if (!tree.rules.canWrite(actor, directory)) throw denied();
}

function requireUnprotected(tree: Tree, actor: Actor, path: VirtualPath, verb: 'rename' | 'move' | 'delete'): void {
  if (path === actor.basePath || tree.table.isProtected(path))
    throw new AppError('FAILED_PRECONDITION', `${verb} root folder is not allowed`);
}

function nameTaken(name: EntryName | undefined): AppError {
  return new AppError('ENTRY_EXISTS', `file [${name ?? ''}] exists`);
}

/** Gives a refusal because of a taken name the family's text. */
function named(error: unknown, name: EntryName | undefined): unknown {
  return AppError.is(error, 'ENTRY_EXISTS') ? nameTaken(name) : error;
}

function unsupported(): AppError {
  return new AppError('UNSUPPORTED_OPERATION', 'not implement');
}
