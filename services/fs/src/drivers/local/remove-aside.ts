import { randomBytes } from 'node:crypto';
import fs from 'node:fs';
import { AppError, systemCodeOf } from '@wharf/errors';
import { currentOwner, type ProcessOwner } from '@wharf/owned-names';
import { storageError } from '../../driver-contract/storage-error.ts';
import { newAsideName, readAsideName } from '../../driver-contract/temp-names.ts';
import type { ConfinedRoot, HeldFolder } from './confined-root.ts';
import { placeExclusively, placeFolderExclusively } from './place-entry.ts';
import { shortened } from './recycle-bin.ts';

/** Nobody has something aside for longer, but where its process has ended, in milliseconds: of one of another host that cannot be seen otherwise. */
const MAX_ASIDE_MS = 10 * 60 * 1000;

/**
 * Removes a file that was looked at, and no other: it loses its name first, so that what somebody else has put there since is seen, and has the name again.
 * Until it is gone it lies under a name that says what it is called, and is brought back by {@link bringBack} where this process ends.
 *
 * @param seen what the file was when it was looked at. @param dispose does away with what is at a place
 * @throws AppError STALE_VERSION: something else has the name, and keeps it
 */
export function removeAside(
  root: ConfinedRoot,
  folder: HeldFolder,
  { name, seen }: { readonly name: string; readonly seen: fs.Stats },
  dispose: (place: string) => void,
): void {
  const { name: outer, isFolder } = newAsideName(currentOwner(), name, Date.now());
  if (!isFolder) {
    removeBy(folder, name, seen, folder.prefix + outer, dispose);
    return;
  }
  fs.mkdirSync(folder.prefix + outer, 0o700);
  try {
    const holder = root.holdOwnFolder(folder, outer);
    try {
      removeBy(folder, name, seen, holder.prefix + name, dispose);
    } finally {
      holder.close();
    }
  } finally {
    removeIfEmpty(folder.prefix + outer);
  }
}

function removeBy(folder: HeldFolder, name: string, seen: fs.Stats, aside: string, dispose: (place: string) => void): void {
  const place = folder.prefix + name;
  fs.renameSync(place, aside);
  try {
    if (!isSameState(seen, fs.lstatSync(aside))) throw storageError('STALE_VERSION');
    dispose(aside);
  } catch (error) {
    // What has the name by now may be acknowledged, as this may be: it gets one that is near.
    const isThere = fs.lstatSync(aside, { throwIfNoEntry: false }) !== undefined;
    if (isThere && !placeIfFree(aside, place)) placeIfFree(aside, folder.prefix + shortened(name, newSuffix()));
    throw error;
  }
}

/**
 * Gives what a process that has ended left aside its name again. Where something else has that by now, it stays where it is, and is never removed.
 * @returns false for what is no such entry, or may still be in use
 */
export function bringBack(root: ConfinedRoot, folder: HeldFolder, outer: string, self: ProcessOwner): boolean {
  const said = readAsideName(outer, self);
  if (!said || said.isSettled) return false;
  if (said.owner !== 'gone' && !(said.owner === 'elsewhere' && Date.now() - said.sinceMs > MAX_ASIDE_MS)) return false;
  const place = folder.prefix + outer;
  if (said.of !== undefined) {
    placeIfFree(place, folder.prefix + said.of);
    return true;
  }
  // Never through a link, which somebody else may have made there.
  const holder = root.holdOwnFolder(folder, outer);
  try {
    for (const name of fs.readdirSync(holder.prefix)) placeIfFree(holder.prefix + name, folder.prefix + name);
  } finally {
    holder.close();
  }
  removeIfEmpty(place);
  return true;
}

/** @returns false where something else has the name */
function placeIfFree(from: string, to: string): boolean {
  try {
    if (fs.lstatSync(from).isDirectory()) placeFolderExclusively(from, to);
    else placeExclusively(from, to);
    return true;
  } catch (error) {
    if (systemCodeOf(error) !== 'EEXIST' && !AppError.is(error, 'ENTRY_EXISTS')) throw error;
    return false;
  }
}

function removeIfEmpty(folder: string): void {
  try {
    fs.rmdirSync(folder);
  } catch (error) {
    if (systemCodeOf(error) !== 'ENOTEMPTY' && systemCodeOf(error) !== 'EEXIST' && systemCodeOf(error) !== 'ENOENT') throw error;
  }
}

const newSuffix = () => `.kept-${randomBytes(4).toString('hex')}`;

/** The time of a change of the file itself is another one under another name. */
function isSameState(one: fs.Stats, other: fs.Stats): boolean {
  return (
    one.dev === other.dev && one.ino === other.ino && one.size === other.size && one.mtimeMs === other.mtimeMs && one.mode === other.mode
  );
}
