import { AppError } from '@wharf/errors';
import { baseName, type EntryName, isWithin, parentPath } from '@wharf/paths';
import { type Entry, type StorageDriver, supports } from '../../../driver-contract/storage-driver.ts';
import { isNotThere, storageError } from '../../../driver-contract/storage-error.ts';
import { isOtherEntry } from '../../../driver-contract/unchanged.ts';
import { denied } from '../../access/permissions.ts';
import type { Outcome } from '../../reading/folder-cache.ts';
import { removeCopy, takingBack } from '../remove-copy.ts';
import { moveTree } from '../transfer.ts';
import { bytesAt, bytesBelow, withRoom } from './claim-room.ts';
import { hasMore } from './has-more.ts';
import { callOf, nameTaken, type Operation, type OwnCall, open, type Place } from './operation.ts';
import type { Conflict, Item } from './plan-placement.ts';
import { mayHide } from './require-nothing-hidden.ts';
import { busy, changeCallOf, mayHideMore, RENEW_MS } from './rights-of-now.ts';

/** A move or a copy of a folder over a folder puts together what is in both; another name does not. */
type Verb = 'rename' | 'move' | 'copy';

/** Asks of the rights and rules behind a step what was asked before it; throws where it would not be made by them. */
type RequireStill = (later: Operation) => void;

/** What is asked while an entry gets another name. */
export interface WhileRenamed {
  readonly requireStill: RequireStill;
  /** Asked on the way where it is copied and removed, which may take hours. */
  readonly mayStill: () => Promise<void>;
}

/**
 * Moves or copies one entry in one step, and tells of it. Whoever moves has it counted by `Quotas.relocating`.
 *
 * @param requireStill asked where the step took long and rights or rules are others by then: what it refuses is taken back. Absent: it goes back to the name
 * that it had
 * @returns the entry at its new place; undefined when no storage can do it in one step: it is to be copied, and removed, piece by piece
 * @throws AppError ENTRY_EXISTS | QUOTA_EXCEEDED | what the storage and `requireStill` throw
 */
export async function placeInOneStep(
  operation: Operation,
  item: Item,
  verb: Verb,
  requireStill?: RequireStill,
): Promise<Entry | undefined> {
  const { source, target, entry, from, to } = item;
  if (from.mount.storage._id !== to.mount.storage._id) return undefined;
  if (requireStill && !mayGoWhole(operation, item)) return undefined;
  if (verb !== 'copy') return step(operation, item, verb, requireStill);
  const bytes = async () => (entry.isDirectory ? bytesBelow(operation, { path: source, located: from }) : (entry.sizeBytes ?? 0));
  return withRoom(
    operation,
    bytes,
    () => step(operation, item, verb, requireStill),
    () => bytesAt(operation, target, to),
  );
}

/**
 * Whether a folder may go whole to another place, or get another name: not where other names are hidden from the caller. What somebody stores in it between the
 * look and the step would be shown, or be taken back with it. A folder that has rules of its own is not moved at all, nor renamed.
 */
export function mayGoWhole({ actor, snapshot }: Operation, { entry, source, target }: Item): boolean {
  return !entry.isDirectory || snapshot.rules.hidesAlike(actor, source, target);
}

/**
 * Gives an entry another name, in a storage that cannot rename by copying and removing. Tells of both names. A folder takes the place of an empty
 * one at most: what is in a folder is not replaced by a new name.
 *
 * @returns the file at its new name, or the folder where that was one step; undefined: that is not known, or `queue` took it over
 * @param how.queue takes over a folder that is to go file by file, and a large one that is to be copied and removed. The rest is absent where it goes back to
 * the name that it had
 * @throws AppError PERMISSION_DENIED: it is to go file by file, and there is no queue | DIRECTORY_NOT_EMPTY | ENTRY_EXISTS | what the storage, `mayStill` and `requireStill` throw
 */
export async function renameItem(
  operation: Operation,
  item: Item,
  { queue, mayStill, requireStill }: { queue?: ((items: readonly Item[]) => Promise<void>) | undefined } & Partial<WhileRenamed> = {},
): Promise<Entry | undefined> {
  const placed = await placeInOneStep(operation, item, 'rename', requireStill);
  if (placed) return placed;
  const { source, target, entry, from, to, conflict } = item;
  const { changes } = operation;
  const call = callOf(operation);
  const since = changes.now();
  let copiedBytes = 0;
  const onCopied = (bytes: number) => {
    copiedBytes += bytes;
  };
  try {
    const [here, there] = [await open(from), await open(to)];
    if (entry.isDirectory && (await isFull(there, call))) throw storageError('DIRECTORY_NOT_EMPTY');
    const isWhole = !requireStill || mayGoWhole(operation, item);
    if (!isWhole && !queue) throw denied();
    if (entry.isDirectory && queue && (!isWhole || (await hasMore(here, LARGE_ENTRIES, call)))) {
      await queue([{ ...item, conflict: 'refuse' }]);
      return undefined;
    }
    const moved = await moveTree(here, entry, there, conflict, call, { onCopied, mayStill });
    if (moved === undefined || here.driver !== there.driver) changes.entryChanged(source, target);
    else for (const outcome of outcomesOf(item, here.driver, moved, since)) changes.entryBecame(outcome);
    return moved;
  } catch (error) {
    changes.entryChanged(source, target);
    await operation.snapshot.quotas.uncounted([source, target], copiedBytes);
    throw named(error, baseName(target));
  }
}

/** A folder with more entries than that, at whatever depth, is not copied while somebody waits for the answer. */
export const LARGE_ENTRIES = 100;

async function isFull({ driver, path }: Place, call: OwnCall): Promise<boolean> {
  try {
    for await (const _ of driver.list(path, call)) return true;
  } catch (error) {
    // A file is replaced, or refused, as any other.
    if (!isNotThere(error)) throw error;
  }
  return false;
}

async function step(operation: Operation, item: Item, verb: Verb, requireStill?: RequireStill): Promise<Entry | undefined> {
  const { changes } = operation;
  const { source, target, entry: looked, from, to, conflict } = item;
  const call = verb === 'copy' ? 'copy' : 'rename';
  const [here, there] = [await open(from), await open(to)];
  if (!supports(here.driver, call)) return undefined;
  const changed = call === 'rename' ? [source, target] : [target];
  // One for both: the look for the folder may take long, too.
  const changeCall = changeCallOf(operation);
  try {
    if (call === 'copy' || parentPath(source) !== parentPath(target)) await ensureFolder(there, changeCall);
    if (requireStill) await requireAsLooked(operation, item, here, changeCall);
    const since = changes.now();
    const begunAtMs = performance.now();
    const entry = await here.driver[call](here.path, there.path, {
      ...changeCall,
      overwrite: conflict === 'replace',
      ...(looked.isDirectory && { isTree: true }),
    });
    const tookMs = performance.now() - begunAtMs;
    const later = await afterStep(operation, tookMs);
    const requireThen = requireStill && mayHideMore(later, operation) ? requireStill : undefined;
    const done = { item, here, there, entry, later, requireThen, tookMs };
    if (call === 'copy') await keepCopy(done);
    else if (requireStill) await keepMove(done);
    const [went, came] = outcomesOf(item, here.driver, entry, since);
    if (call === 'rename') changes.entryMoved(went, came);
    else changes.entryBecame(came);
    return entry;
  } catch (error) {
    // Of what failed a part may be there, or gone.
    changes.entryChanged(...changed);
    if (needsCopying(error, verb === 'rename' ? 'refuse' : conflict)) return undefined;
    throw named(error, baseName(target));
  }
}

/**
 * All entries of a call are looked at before the first of them is touched: by its turn a file may be a link or a folder, with something hidden behind it that nobody
 * has looked for.
 *
 * @throws AppError OVERLOADED: whoever asks again is told what holds now
 */
async function requireAsLooked(
  operation: Operation,
  { entry, source, target }: Item,
  { driver, path }: Place,
  call: OwnCall,
): Promise<void> {
  if (entry.isDirectory || !mayHide(operation, source, target)) return;
  const now = await driver.stat(path, call);
  if (now.isDirectory || (now.isLink && !entry.isLink)) throw busy();
}

/**
 * The operation for what follows a step: whoever has left since would have what is hidden go along. Each call has its own time, and the walk its bound. After a
 * long step it is that of now: what came into the folder meanwhile may have a rule that came before.
 *
 * @param tookMs for how long the step took
 */
async function afterStep(operation: Operation, tookMs: number): Promise<Operation> {
  const { signal } = new AbortController();
  if (tookMs < RENEW_MS) return { ...operation, signal };
  const now = await operation.renewed?.(signal).catch(() => undefined);
  if (now) return { ...now, signal };
  // Whoever has logged out, or is disabled by now, is held to the rules of now too. Where nobody can say, it is as it was at the beginning.
  const snapshot = await operation.newest?.().catch(() => undefined);
  return { ...operation, ...(snapshot && { snapshot }), signal };
}

/** A step that is made, and whether it holds. */
interface Done {
  readonly item: Item;
  readonly here: Place;
  readonly there: Place;
  /** At its new place. */
  readonly entry: Entry;
  readonly later: Operation;
  /** Absent: nothing is other than it was before the step. */
  readonly requireThen: RequireStill | undefined;
  readonly tookMs: number;
}

/** @throws AppError PERMISSION_DENIED; FAILED_PRECONDITION for the admin */
function requireStep({ item, entry, later, requireThen }: Done): void {
  const { basePath } = later.actor;
  if (requireThen && !(isWithin(basePath, item.source) && isWithin(basePath, item.target))) throw denied();
  requireThen?.(later);
  // A rule may have come that hides something on one side alone, and another entry since the last look.
  const isLinkNow = entry.isLink === true && item.entry.isLink !== true;
  if (!mayGoWhole(later, { ...item, entry }) || (isLinkNow && mayHide(later, item.source, item.target))) throw denied();
}

/**
 * A rule may have come while an entry moved, which guards nothing at the new place: then it goes back. What it took the place of is gone by then.
 *
 * @throws AppError PERMISSION_DENIED
 */
async function keepMove(done: Done): Promise<void> {
  const { here, there } = done;
  try {
    requireStep(done);
  } catch (error) {
    await moveBack(done, here, there);
    throw error;
  }
}

/** Where something new has the old name, what moved stays, and so does what somebody else has put in its place since. */
async function moveBack({ entry, tookMs }: Done, { path }: Place, there: Place): Promise<void> {
  const { driver } = there;
  if (!supports(driver, 'rename')) return;
  const call = takingBack(tookMs);
  const now = await driver.stat(there.path, call).catch(() => entry);
  if (!isOtherEntry(entry, now)) await driver.rename(there.path, path, { ...call, overwrite: false }).catch(() => undefined);
}

/**
 * A copy that the rules behind it do not allow goes again. It was made over nothing, or over a file, which is gone by then.
 *
 * @throws AppError PERMISSION_DENIED
 */
async function keepCopy(done: Done): Promise<void> {
  const { here, there, entry, tookMs } = done;
  try {
    requireStep(done);
  } catch (error) {
    await removeCopy(there, here.path, entry, takingBack(tookMs));
    throw error;
  }
}

/** What a move made of both names. */
function outcomesOf({ source, target }: Item, driver: StorageDriver, entry: Entry, since: number): [Outcome, Outcome] {
  return [
    { path: source, driver, entry: source === target ? entry : undefined, since },
    { path: target, driver, entry, since },
  ];
}

/** The storage cannot do it in one step: this pair, or a folder over a folder, which is merged. */
function needsCopying(error: unknown, conflict: Conflict): boolean {
  if (AppError.is(error, 'UNSUPPORTED_OPERATION')) return true;
  return conflict !== 'refuse' && (AppError.is(error, 'DIRECTORY_NOT_EMPTY') || AppError.is(error, 'ENTRY_EXISTS'));
}

/** Makes the folder that will hold the target: clients may name one that is not there yet. */
async function ensureFolder({ driver, path }: Place, call: OwnCall): Promise<void> {
  const parent = parentPath(path);
  if (parent !== '/' && supports(driver, 'makeDirectory')) await driver.makeDirectory(parent, call);
}

/** Gives a refusal because of a taken name the family's text. */
function named(error: unknown, name: EntryName | undefined): unknown {
  return AppError.is(error, 'ENTRY_EXISTS') ? nameTaken(name) : error;
}
