import { AppError } from '@wharf/errors';
import { currentOwner } from '@wharf/owned-names';
import type { MountPath } from '@wharf/paths';
import type { Asides } from '../../driver-contract/asides.ts';
import { isAway, Lost, storageError } from '../../driver-contract/storage-error.ts';
import type { TempPlaces } from '../../driver-contract/temp-files.ts';
import { newAsideName } from '../../driver-contract/temp-names.ts';
import type { Place, WebdavClient } from './client.ts';
import { isSame, type Resource } from './resources.ts';

/** A proxy that waits in vain for one of several servers asks another one, and the first may do it late. What took less time was asked of one. */
const SLOW_STEP_MS = 2_000;
/** So long the place of what stepped aside stays taken then. */
const LINGERING_MS = 5 * 60 * 1000;

/**
 * Replaces on a server that removes what has the name before it looks what there is to move: by two moves to free names. What had the name lies in a folder of
 * ours meanwhile, which is gone afterwards for good: each of the two, when it is carried out late or twice, finds its place taken, or no way there, and does nothing.
 */
export async function replaceAside(
  client: WebdavClient,
  asides: Asides,
  from: Place,
  to: MountPath,
  isFolder: boolean,
  before: Resource,
): Promise<void> {
  const begunAtMs = Date.now();
  let isSlow = false;
  const work = async (aside: Place) => {
    await moveAside(client, to, aside, before.isFolder);
    isSlow = Date.now() - begunAtMs > SLOW_STEP_MS;
    if (before.isFolder && !(await client.isEmpty(aside, {}))) throw storageError('DIRECTORY_NOT_EMPTY');
    await moveToFree(client, from, to, isFolder);
  };
  const lingerMs = () => (isSlow ? LINGERING_MS : 0);
  try {
    await asides.stepAside(to, work, { source: from, remove: (place) => deleteFolder(client, place), lingerMs });
  } catch (error) {
    // What had the name is remembered, and gets it again; what was to replace it is not needed for that.
    throw error instanceof Lost ? error.cause : error;
  }
}

/** A move that was sent twice on the way says that nothing is there to be moved. What is gone altogether needs not step aside. */
async function moveAside(client: WebdavClient, from: Place, to: Place, isFolder: boolean): Promise<void> {
  try {
    await client.place('MOVE', from, to, isFolder, false, {});
  } catch (error) {
    const [source, aside] = await lookAtBoth(client, from, to, error);
    if (source === undefined && (aside !== undefined || !isAway(error))) return;
    throw error;
  }
}

/** The same for a name that is free, as far as was seen: what was sent twice is done. Where nobody says how it went, it is tried once more. */
export async function moveToFree(client: WebdavClient, from: Place, to: Place, isFolder: boolean): Promise<void> {
  const move = () => client.place('MOVE', from, to, isFolder, false, {});
  const isMoved = async (error: unknown) => {
    const [source, target] = await lookAtBoth(client, from, to, error);
    if (source === undefined && target !== undefined) return true;
    if (source === undefined || target !== undefined || !isAway(error)) throw error;
    return false;
  };
  try {
    await move();
  } catch (error) {
    if (await isMoved(error)) return;
    await move().catch(async (failure: unknown) => {
      if (!(await isMoved(failure))) throw failure;
    });
  }
}

/** @throws what made it necessary, where a look fails */
async function lookAtBoth(client: WebdavClient, from: Place, to: Place, error: unknown) {
  return Promise.all([client.find(from, {}), client.find(to, {})]).catch(() => {
    throw error;
  });
}

async function deleteFolder(client: WebdavClient, place: Place): Promise<void> {
  await client.delete(place, true, {}).catch((error: unknown) => {
    if (!AppError.is(error, 'ENTRY_NOT_FOUND')) throw error;
  });
}

/** Whether a MOVE that is answered as a failure was done: on the way it may have been sent twice, and the second one finds nothing to move. Nothing has its old name. */
export function wasReplaced(
  before: Resource | undefined,
  moved: Pick<Resource, 'isFolder' | 'sizeBytes'>,
  target: Resource | undefined,
): boolean {
  if (before === undefined || target === undefined || target.isFolder !== moved.isFolder || isSame(before, target)) return false;
  return target.sizeBytes === undefined || moved.sizeBytes === undefined || target.sizeBytes === moved.sizeBytes;
}

/** The folders in which what steps aside lies. */
export function asideFolders(client: WebdavClient): NonNullable<TempPlaces['folders']> {
  return {
    always: true,
    async make(place) {
      // Something has the name where it was sent twice.
      await client.makeFolder(place, {});
    },
    async remove(place) {
      if ((await client.find(place, {})) === undefined) return;
      // A move into it may be carried out while we look: by this name it is not found any more.
      const other = place.slice(0, place.lastIndexOf('/') + 1) + newAsideName(currentOwner(), undefined, Date.now()).name;
      await moveToFree(client, place, other, true);
      // The next listing brings back what came before that.
      if (!(await client.isEmpty(other, {}))) throw storageError('DIRECTORY_NOT_EMPTY');
      await client.delete(other, true, {});
    },
    async *namesIn(place) {
      for await (const { name } of client.list(place, {})) if (name !== undefined) yield name;
    },
  };
}
