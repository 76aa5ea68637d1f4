import { AppError } from '@wharf/errors';
import { existingTraits, type NameTraits, triedTraits } from '../../driver-contract/folding.ts';
import { isOneName } from '../../driver-contract/remote-places.ts';
import type { CallOptions } from '../../driver-contract/storage-driver.ts';
import type { Place, RcloneClient } from './client.ts';

/** So many entries are asked for in other spellings: one answer is enough where nothing is odd. */
const MAX_LOOKED_AT = 8;
/** So many names of the root are enough for that: it may have any number, and a server any number more. */
const MAX_NAMES = 1_000;
/** No name that could be asked for is longer. */
const MAX_NAME_LENGTH = 255;

/** Tries out how a server takes names; one that cannot be written to is judged by the names in it. @param newPlace names of ours in the root */
export async function probeNames(client: RcloneClient, root: Place, newPlace: () => Place, call: CallOptions): Promise<NameTraits> {
  try {
    return await triedTraits(async (name, other) => {
      const temp = newPlace();
      try {
        await client.makeFolder(`${temp}/${name}`, call);
        const [isKept, isFolded] = await Promise.all([isListed(client, temp, name, call), isFolder(client, `${temp}/${other}`, call)]);
        return { isKept, isFolded };
      } finally {
        await client.purge(temp, {}).catch(() => undefined);
      }
    });
  } catch (error) {
    if (!AppError.is(error, 'PERMISSION_DENIED') && !AppError.is(error, 'STORAGE_READ_ONLY')) throw error;
  }
  const names = await someNamesIn(client, root, call);
  const isThere = async (name: string) => {
    const place = `${root}/${name}`;
    return (await client.find(place, call)) !== undefined || (await isFolder(client, place, call));
  };
  return existingTraits(names, isThere, MAX_LOOKED_AT);
}

/** Whether a folder answers to this name, in whatever spelling the server takes. */
export async function isFolder(client: RcloneClient, place: Place, call: CallOptions): Promise<boolean> {
  try {
    for await (const _ of client.list(place, call)) break;
    return true;
  } catch (error) {
    const codes = ['ENTRY_NOT_FOUND', 'NOT_A_DIRECTORY'] as const;
    if (codes.some((code) => AppError.is(error, code))) return false;
    throw error;
  }
}

/** Nothing is kept of what is listed: a server may list without an end. */
async function isListed(client: RcloneClient, place: Place, wanted: string, call: CallOptions): Promise<boolean> {
  let isThere = false;
  for await (const { name } of client.list(place, call)) isThere ||= name === wanted;
  return isThere;
}

async function someNamesIn(client: RcloneClient, place: Place, call: CallOptions): Promise<Set<string>> {
  const names = new Set<string>();
  for await (const { name } of client.list(place, call)) {
    if (isOneName(name) && name.length <= MAX_NAME_LENGTH) names.add(name);
    if (names.size === MAX_NAMES) break;
  }
  return names;
}
