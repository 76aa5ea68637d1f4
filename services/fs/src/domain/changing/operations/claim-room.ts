import { AppError } from '@wharf/errors';
import { createPace } from '@wharf/pace';
import { type EntryName, hasRoomFor, type VirtualPath } from '@wharf/paths';
import { EntryMap } from '../../../driver-contract/entry-map.ts';
import { supports } from '../../../driver-contract/storage-driver.ts';
import { isNotThere } from '../../../driver-contract/storage-error.ts';
import { createWalkBound } from '../../../driver-contract/walk-bound.ts';
import type { Located } from '../../mounts/mount-table.ts';
import type { Mount } from '../../mounts/mounts.ts';
import type { Claim, HeldClaim, HeldRoom } from '../../quota/quota.ts';
import { findEntry } from '../../reading/get-entry.ts';
import { childFolder, everythingIn, type WalkedFolder } from './child-folders.ts';
import { callOf, type Operation, open } from './operation.ts';

/**
 * Claims bytes of the caller's quota before the first of them is written; whoever has no quota gets a claim without bounds. The quota is
 * over all files below the caller's base path, whoever wrote them, in whatever storage.
 *
 * @throws AppError QUOTA_EXCEEDED
 */
export function claimRoom(operation: Operation, bytes: number): Promise<Claim> {
  return operation.snapshot.quotas.claim(operation.actor, bytes, counterOf(operation), operation.signal);
}

/**
 * The same for work that goes on in other processes: they share the claim of this name.
 *
 * @param signal of whoever holds the claim, where that outlives the operation. @throws AppError QUOTA_EXCEEDED
 */
export function holdRoom(operation: Operation, held: HeldRoom, signal = operation.signal): Promise<HeldClaim> {
  return operation.snapshot.quotas.hold(operation.actor, held, counterOf(operation), signal);
}

/** Adds up everything below the caller's base path, for whoever waits for it: not bound to the operation. */
function counterOf(operation: Operation): (signal: AbortSignal) => Promise<number> {
  const { snapshot, actor } = operation;
  return (signal) => bytesBelow({ ...operation, signal }, { path: actor.basePath, located: snapshot.table.locate(actor.basePath) });
}

/**
 * Does work that writes so many bytes within the caller's quota; what is left of work that fails is counted later.
 *
 * @param work says what it wrote; undefined or false: nothing.
 * @param written what it wrote in the end, where that may be more: others change what is copied while it is added up.
 * @returns what `work` says. @throws AppError QUOTA_EXCEEDED before it begins
 */
export async function withRoom<Done>(
  operation: Operation,
  bytes: () => Promise<number>,
  work: () => Promise<Done>,
  written?: () => Promise<number>,
): Promise<Done> {
  const { quotas } = operation.snapshot;
  if (!quotas.limits(operation.actor)) return work();
  const wanted = await bytes();
  const claim = await claimRoom(operation, wanted);
  try {
    const done = await work();
    const found = done && written ? await quotas.undisturbed(operation.actor, written) : wanted;
    await (found === undefined ? claim.abandon() : claim.settle(done ? Math.max(wanted, found) : 0));
    return done;
  } catch (error) {
    await claim.abandon();
    throw error;
  }
}

/** Bytes of an entry with all it holds; 0 where none is. */
export async function bytesAt(operation: Operation, path: VirtualPath, located: Located<Mount>): Promise<number> {
  const entry = await findEntry(operation.snapshot, path, located, callOf(operation));
  return entry?.isDirectory ? bytesBelow(operation, { path, located }) : (entry?.sizeBytes ?? 0);
}

/**
 * Bytes of all files at or below a folder. Links are not followed, and take no room; nor does a file whose size its storage does not tell.
 *
 * @param maxEntries what a test may lower. @throws AppError FAILED_PRECONDITION for a tree of more
 */
export async function bytesBelow(operation: Operation, root: WalkedFolder, maxEntries?: number): Promise<number> {
  const countWalked = createWalkBound(maxEntries);
  /** Folders on the way down, with the names of those in them that wait. */
  const way: { folder: WalkedFolder; names: EntryName[] }[] = [];
  let bytes = 0;
  const pace = createPace(operation.signal);
  for (let folder: WalkedFolder | undefined = root; folder; folder = nextFolder(operation, way)) {
    operation.signal.throwIfAborted();
    const whole = await bytesOfTree(operation, folder, countWalked);
    if (whole !== undefined) {
      bytes += whole;
      continue;
    }
    const { entries, mounted } = await contentsOf(operation, folder);
    countWalked(entries.size);
    const folders = new Set(mounted);
    for (const { name, isDirectory, isLink, sizeBytes } of entries.values()) {
      await pace.step();
      if (isLink) continue;
      if (!isDirectory) bytes += sizeBytes ?? 0;
      else if (hasRoomFor(folder.path, name)) folders.add(name);
    }
    if (folders.size > 0) way.push({ folder, names: [...folders] });
  }
  return bytes;
}

/** By the storage's own recursive listing. Undefined: it has none, or others are mounted below. */
async function bytesOfTree(
  { snapshot, signal }: Operation,
  { path, located }: WalkedFolder,
  countWalked: (entries: number) => void,
): Promise<number | undefined> {
  if (!located || snapshot.table.virtualFolders(path).length > 0) return undefined;
  const { driver, path: place } = await open(located);
  if (!supports(driver, 'listAll')) return undefined;
  let bytes = 0;
  try {
    for await (const { entry } of driver.listAll(place, { signal, seesAll: true })) {
      countWalked(1);
      if (!entry.isDirectory && !entry.isLink) bytes += entry.sizeBytes ?? 0;
    }
  } catch (error) {
    if (!holdsNothing(error)) throw error;
  }
  return bytes;
}

function nextFolder(operation: Operation, way: { folder: WalkedFolder; names: EntryName[] }[]): WalkedFolder | undefined {
  for (let last = way.at(-1); last; last = way.at(-1)) {
    const name = last.names.pop();
    if (name !== undefined) return childFolder(operation, last.folder, name);
    way.pop();
  }
  return undefined;
}

/** A folder that went away meanwhile, or is not there yet, holds nothing, nor does one that cannot be listed. */
async function contentsOf(operation: Operation, folder: WalkedFolder): ReturnType<typeof everythingIn> {
  try {
    return await everythingIn(operation, folder, { seesAll: true });
  } catch (error) {
    // It has too many letters to be listed, as one of too many names: neither is the bound of the walk.
    if (AppError.is(error, 'FAILED_PRECONDITION')) throw new AppError('UNSUPPORTED_OPERATION', error.message, { cause: error });
    if (!holdsNothing(error)) throw error;
    const mounted = operation.snapshot.table.virtualFolders(folder.path).map(({ name }) => name);
    return { entries: new EntryMap(), mounted, bytes: 0 };
  }
}

/**
 * Whether nothing is in a folder that anybody could read by Wharf: it is not there, or its storage does not show it, as its own rights are (`lost+found`) or its
 * path is too long for it. One such folder would keep all who have a quota from storing anything.
 */
function holdsNothing(error: unknown): boolean {
  return isNotThere(error) || UNREADABLE.some((code) => AppError.is(error, code));
}

/** Not `UNSUPPORTED_OPERATION`: whoever may write can make a folder of more names than are listed, and what is in it can be read. */
const UNREADABLE = ['PERMISSION_DENIED', 'INVALID_ARGUMENT', 'UNSAFE_PATH'] as const;
