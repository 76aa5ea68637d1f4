import { AppError } from '@wharf/errors';
import { createPace } from '@wharf/pace';
import { nameAt, parentPath, type VirtualPath } from '@wharf/paths';
import { beganElsewhere } from '../../../driver-contract/begun-removal.ts';
import { type CallOptions, type RemoveOptions, supports } from '../../../driver-contract/storage-driver.ts';
import { isNotThere, storageError } from '../../../driver-contract/storage-error.ts';
import { requirePermission } from '../../access/permissions.ts';
import type { Located } from '../../mounts/mount-table.ts';
import type { Mount } from '../../mounts/mounts.ts';
import { findEntry } from '../../reading/get-entry.ts';
import { locate, resolvePath } from '../../snapshot/snapshot.ts';
import { hasMore } from './has-more.ts';
import {
  callerOf,
  callOf,
  innerPaths,
  type Operation,
  open,
  type Place,
  requireUnprotected,
  requireWrite,
  unsupported,
} from './operation.ts';
import { PLAN_BYTES, PLANS } from './plan-room.ts';
import { requireNothingHidden } from './require-nothing-hidden.ts';
import { changeCallOf, type RightsOfNow, rightsOfNow, stillAllowed } from './rights-of-now.ts';

/** An entry that is to go, with all it holds. The storage is chosen once, for the look and for the deed. */
export interface Doomed {
  readonly path: VirtualPath;
  readonly located: Located<Mount>;
}

/** An entry whose removal has begun: whatever has its name from now on is another one. */
export interface Begun extends Doomed {
  /** What its storage is to be given to go on. */
  readonly begun: string;
}

/** Takes over what takes long. */
export type QueueRemovals = (begun: readonly Begun[]) => Promise<void>;

/** Of one request so many entries go one by one where that is how the storage removes them: each costs some calls. */
const MAX_SINGLE = 100;
/** A folder with more entries than that, at whatever depth, does not go entry by entry while somebody waits for the answer. */
const MAX_BELOW = 1_000;
/** Changed entries that are told of between two turns of others. */
const TOLD_AT_ONCE = 500;

/**
 * Removes entries of a folder, with all they hold. One that is not there is success.
 *
 * @param request.onlyEmpty a folder in which anything is, listed or not, is refused with DIRECTORY_NOT_EMPTY, and what is no folder with NOT_A_DIRECTORY
 * @param queue takes over what would take long: large folders and long lists, where a storage removes entry by entry and can tell later what was there
 * now. Absent: the caller waits for that
 * @param enter the room for the list; another one is given by tests only. @throws AppError FAILED_PRECONDITION (too many for one request) | OVERLOADED, beside others
 */
export async function removeEntries(
  operation: Operation,
  request: { dir: string; names: readonly string[]; onlyEmpty?: true },
  queue?: QueueRemovals,
  enter = PLANS,
): Promise<void> {
  const directory = resolvePath(operation.actor, request.dir);
  requireRemoval(operation, directory);
  const share = enter(callerOf(operation));
  try {
    for (const name of request.names) share.take(PLAN_BYTES.removed(directory.length + name.length));
    await removeNames(operation, directory, request, queue);
  } finally {
    share.leave();
  }
}

async function removeNames(
  operation: Operation,
  directory: VirtualPath,
  { names, onlyEmpty }: { names: readonly string[]; onlyEmpty?: true },
  queue?: QueueRemovals,
): Promise<void> {
  const { snapshot, signal } = operation;
  const now = rightsOfNow(operation, [directory]);
  const doomed: Doomed[] = [];
  const pace = createPace(signal);
  for (const path of await innerPaths(directory, names, pace)) {
    requireRemovable(operation, path);
    doomed.push({ path, located: locate(snapshot, path) });
    await pace.step();
  }
  for (const one of doomed) {
    await pace.step();
    await requireAllSeen(operation, one);
  }
  // What is removed may go to a bin that is counted too.
  const entries = { folder: directory, names: doomed.map(({ path }) => nameAt(path)) };
  await snapshot.quotas.relocating([entries], () =>
    onlyEmpty ? removeEmpty(operation, now, doomed) : removeAll(operation, now, doomed, queue),
  );
}

/** Whether the caller may remove entries of a folder at all. @throws AppError PERMISSION_DENIED */
export function requireRemoval({ snapshot, actor }: Operation, directory: VirtualPath): void {
  requirePermission(actor, 'delete');
  requireWrite(snapshot, actor, directory);
}

/** Whether the caller may remove this entry, as far as paths and rules tell. @throws AppError PERMISSION_DENIED | FAILED_PRECONDITION (a mount point) */
export function requireRemovable({ snapshot, actor }: Operation, path: VirtualPath): void {
  requireUnprotected(snapshot, actor, path, 'delete');
}

/** Whether nothing in the entry is hidden from the caller, who would destroy it with it. @throws AppError PERMISSION_DENIED */
export async function requireAllSeen(operation: Operation, { path, located }: Doomed): Promise<void> {
  const { snapshot, actor } = operation;
  if (!snapshot.rules.mayHideIn(actor, path)) return;
  const entry = await findEntry(snapshot, path, located, callOf(operation));
  if (entry) await requireNothingHidden(operation, { entry, path, located });
}

async function removeAll(
  operation: Operation,
  now: RightsOfNow,
  doomed: readonly Doomed[],
  queue: QueueRemovals | undefined,
): Promise<void> {
  const left: Doomed[] = [];
  let single = 0;
  try {
    for (const one of doomed) {
      const current = await mayStillRemove(operation, now, one);
      const place = await open(one.located);
      if (!queue || !place.driver.traits.removesStepwise || !supports(place.driver, 'beginRemoval')) {
        await removeOne(current, one, { recursive: true });
        continue;
      }
      single += 1;
      if (single > MAX_SINGLE || !(await removeSoon(current, one, place))) left.push(one);
    }
  } finally {
    if (queue && left.length > 0) await beginRemovals(operation, now, left, queue);
  }
}

/**
 * Each storage says itself whether a folder is empty.
 *
 * @throws AppError DIRECTORY_NOT_EMPTY | NOT_A_DIRECTORY | STALE_VERSION: those before it are gone
 */
async function removeEmpty(operation: Operation, now: RightsOfNow, doomed: readonly Doomed[]): Promise<void> {
  for (const one of doomed) {
    const current = await mayStillRemove(operation, now, one);
    const { driver, path } = await open(one.located);
    // A kept listing would not do: another one may have the name since.
    const entry = await driver.stat(path, callOf(current)).catch((error: unknown) => {
      if (!isNotThere(error)) throw error;
      return undefined;
    });
    if (entry && !entry.isDirectory) throw storageError('NOT_A_DIRECTORY');
    // Where nothing was, the storage still says whether it is there itself; what has got the name since stays.
    const onlyIf = entry ?? { name: nameAt(path), isDirectory: false, sizeBytes: -1, modifiedAt: new Date(Number.NaN) };
    if (!(await removeOne(current, one, { recursive: false, onlyIf }))) throw storageError('DIRECTORY_NOT_EMPTY');
  }
}

/** @returns the operation of now, which may remove this entry, too */
function mayStillRemove(begun: Operation, now: RightsOfNow, one: Doomed): Promise<Operation> {
  const check = (operation: Operation) => {
    requireRemoval(operation, parentPath(one.path));
    requireRemovable(operation, one.path);
  };
  return stillAllowed(begun, now, check, (operation) => requireAllSeen(operation, one));
}

/** What cannot be begun is removed while the caller waits. @throws what the storage says of the first that fails; all others are done, or queued */
async function beginRemovals(operation: Operation, rights: RightsOfNow, left: readonly Doomed[], queue: QueueRemovals): Promise<void> {
  const { snapshot, actor, changes, signal } = operation;
  const pace = createPace(signal);
  let current = operation;
  for (const one of left) {
    await pace.step();
    current = await mayStillRemove(operation, rights, one);
  }
  const call = changeCallOf(current);
  const queued: Begun[] = [];
  const now: Doomed[] = [];
  let failure: unknown;
  try {
    for (const group of Map.groupBy(left, ({ located }) => located.mount).values()) {
      const answers = await begin(group, call).catch((error: unknown) => {
        failure ??= error;
        return [];
      });
      for (const [index, one] of group.entries()) {
        const answer = answers[index];
        if (typeof answer === 'string') queued.push({ ...one, begun: answer });
        else if (AppError.is(answer, 'UNSUPPORTED_OPERATION')) now.push(one);
        else if (answer !== undefined && !isNotThere(answer)) failure ??= answer;
      }
    }
    if (queued.length > 0) await queue(queued);
  } finally {
    await tellOf(left, changes);
    await snapshot.quotas.freed(actor);
  }
  for (const one of now) await removeOne(await mayStillRemove(operation, rights, one), one, { recursive: true });
  if (failure !== undefined) throw failure;
}

/** Tells of all of them, in turns with other work: their paths may have 40 MB together. */
async function tellOf(entries: readonly Doomed[], changes: Operation['changes']): Promise<void> {
  const pace = createPace();
  for (let start = 0; start < entries.length; start += TOLD_AT_ONCE) {
    changes.entryChanged(...entries.slice(start, start + TOLD_AT_ONCE).map(({ path }) => path));
    await pace.step();
  }
}

/** @param group entries of one storage */
async function begin(group: readonly Doomed[], call: CallOptions): Promise<readonly (string | undefined | AppError)[]> {
  const places = await Promise.all(group.map(({ located }) => open(located)));
  const driver = places[0]?.driver;
  if (!driver || !supports(driver, 'beginRemoval')) throw unsupported();
  const paths = places.map(({ path }) => path);
  return driver.beginRemoval(paths, call).catch((error: unknown) => {
    if (AppError.is(error, 'UNSUPPORTED_OPERATION')) return paths.map(() => error);
    throw error;
  });
}

/** @returns false when it takes long: it is as it was */
async function removeSoon(operation: Operation, doomed: Doomed, place: Place): Promise<boolean> {
  // Most are files, or empty: no look at what is in them.
  if (await removeOne(operation, doomed, { recursive: false })) return true;
  if (await hasMore(place, MAX_BELOW, callOf(operation))) return false;
  return removeOne(operation, doomed, { recursive: true, isSmall: true });
}

/**
 * Removes one entry, and tells of it. One that is not there is success.
 *
 * @returns false where something stays: in a folder that was to go only if empty, which is as it was; or that came since the removal began
 * @throws what the storage throws
 */
export async function removeOne(
  operation: Operation,
  { path, located }: Doomed,
  options: Pick<RemoveOptions, 'recursive' | 'isSmall' | 'afterWaiting' | 'beforeStep' | 'begun' | 'isPatient' | 'onlyIf'>,
): Promise<boolean> {
  const { snapshot, actor, changes } = operation;
  const { driver, path: place } = await open(located);
  if (!supports(driver, 'remove')) throw unsupported();
  // The storage, or one below it, is of another kind than then: it would pass over what only some goes by.
  if (options.begun !== undefined && !supports(driver, 'beginRemoval')) throw beganElsewhere();
  const since = changes.now();
  const own = changeCallOf(operation);
  // What asks for itself on the way goes on where other rules let it.
  const { afterWaiting = own.afterWaiting } = options;
  try {
    await driver.remove(place, { ...options, ...own, afterWaiting });
  } catch (error) {
    if (!options.recursive && AppError.is(error, 'DIRECTORY_NOT_EMPTY')) return false;
    // What was there then is gone, and what is there came since.
    const isLeft = options.begun !== undefined && AppError.is(error, 'STALE_VERSION');
    // Of a folder that failed something may be gone.
    if (isLeft) changes.entryGone(path);
    else changes.entryChanged(path);
    await snapshot.quotas.freed(actor);
    if (isLeft) return false;
    if (!isNotThere(error)) throw error;
    return true;
  }
  // Something else may have the name by now.
  if (options.begun !== undefined) changes.entryGone(path);
  else changes.entryBecame({ path, driver, entry: undefined, since });
  await snapshot.quotas.freed(actor);
  return true;
}
