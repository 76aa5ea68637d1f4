import { AppError } from '@wharf/errors';
import { baseName, type EntryName, parentPath } from '@wharf/paths';
import { supports } from '../../driver-contract/storage-driver.ts';
import { type Conflict, copyTree, moveTree, type Place } from '../transfer.ts';
import { bytesBelow, withRoom } from './claim-room.ts';
import { nameTaken, type Operation, open } from './operation.ts';
import type { Item } from './plan-placement.ts';

/** Moves one entry: in one step where its storage can, else by copying and removing. Tells of both places. */
export async function moveItem({ changes, signal }: Operation, { source, target, entry, from, to, conflict }: Item): Promise<void> {
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

/** Copies one entry: in one step where its storage can, else by reading and writing. Tells of the target. */
export async function copyItem(operation: Operation, item: Item): Promise<void> {
  const { source, entry, from } = item;
  const bytes = async () => (entry.isDirectory ? bytesBelow(operation, { path: source, located: from }) : entry.sizeBytes);
  await withRoom(operation, bytes, async () => {
    await copyWhole(operation, item);
    return true;
  });
}

async function copyWhole({ changes, signal }: Operation, { target, entry, from, to, conflict }: Item): Promise<void> {
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

/** Gives a refusal because of a taken name the family's text. */
function named(error: unknown, name: EntryName | undefined): unknown {
  return AppError.is(error, 'ENTRY_EXISTS') ? nameTaken(name) : error;
}
