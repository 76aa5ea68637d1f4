import { AppError } from '@wharf/errors';
import { existingTraits, type NameTraits, triedTraits } from '../../driver-contract/folding.ts';
import { isOneName } from '../../driver-contract/remote-places.ts';
import type { CallOptions } from '../../driver-contract/storage-driver.ts';
import type { Place, RcloneClient } from './client.ts';

/** So many entries are asked for in other spellings: one answer is enough where nothing is odd. */
const MAX_LOOKED_AT = 8;

/** Tries out how a server takes names; one that cannot be written to is judged by the names in it. @param newPlace names of ours in the root */
export async function probeNames(client: RcloneClient, root: Place, newPlace: () => Place, call: CallOptions): Promise<NameTraits> {
  try {
    return await triedTraits(async (name, other) => {
      const temp = newPlace();
      try {
        await client.makeFolder(`${temp}/${name}`, call);
        const [names, isFolded] = await Promise.all([namesIn(client, temp, call), isFolder(client, `${temp}/${other}`, call)]);
        return { isKept: names.has(name), isFolded };
      } finally {
        await client.purge(temp, {}).catch(() => undefined);
      }
    });
  } catch (error) {
    if (!AppError.is(error, 'PERMISSION_DENIED') && !AppError.is(error, 'STORAGE_READ_ONLY')) throw error;
  }
  const names = await namesIn(client, root, call);
  const isThere = async (name: string) => {
    const place = `${root}/${name}`;
    return (await client.find(place, call)) !== undefined || (await isFolder(client, place, call));
  };
  return existingTraits([...names].filter(isOneName), isThere, MAX_LOOKED_AT);
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

async function namesIn(client: RcloneClient, place: Place, call: CallOptions): Promise<Set<string>> {
  const names = new Set<string>();
  for await (const { name } of client.list(place, call)) names.add(name);
  return names;
}
