import { posix } from 'node:path';
import { existingTraits, type NameTraits, type TriedName, triedTraits } from '../../driver-contract/folding.ts';
import { childPlace, isOneName } from '../../driver-contract/remote-places.ts';
import type { SftpSession } from './client.ts';
import { isRefusal } from './errors.ts';
import { folderPages } from './folder-pages.ts';

/** So many entries are asked for in other spellings: one answer is enough where nothing is odd. */
const MAX_LOOKED_AT = 8;

/** Tries out how the disk of a folder takes names; one that cannot be written to is judged by the names in it. @param newPlace names of ours in the folder */
export async function probeNames(session: SftpSession, root: string, newPlace: () => string): Promise<NameTraits> {
  try {
    return await triedTraits(async (name, other) => {
      const isPlain = /^[A-Za-z]+$/.test(name);
      return (await tryName(session, newPlace(), name, other, !isPlain)) ?? { isKept: true, isFolded: false };
    });
  } catch (error) {
    if (!isRefusal(error)) throw error;
  }
  // A folder that is closed to us is judged by its own name.
  const names = await listedNames(session, root);
  const [folder, listed] = names === undefined ? [posix.dirname(root), new Set([posix.basename(root)])] : [root, names];
  return existingTraits([...listed].filter(isOneName), (name) => isThere(session, childPlace(folder, name)), MAX_LOOKED_AT);
}

/** Whether an entry that is made with this name is then listed with it; true where none can be made: what is to be made cannot be either. */
export async function isKeptName(session: SftpSession, temp: string, name: string): Promise<boolean> {
  try {
    return (await tryName(session, temp, name, name, true))?.isKept ?? true;
  } catch (error) {
    if (isRefusal(error)) return true;
    throw error;
  }
}

/** Makes an entry in a folder of ours. @returns undefined where the server has no such names, if that `mayBe` */
async function tryName(session: SftpSession, temp: string, name: string, other: string, mayBe: boolean): Promise<TriedName | undefined> {
  await session.makeFolder(temp);
  const place = childPlace(temp, name);
  try {
    await session.makeFolder(place);
    const [names, isFolded] = await Promise.all([listedNames(session, temp), isThere(session, childPlace(temp, other))]);
    await session.removeFolder(place);
    return { isKept: names?.has(name) ?? true, isFolded };
  } catch (error) {
    if (mayBe && isRefusal(error)) return undefined;
    throw error;
  } finally {
    await session.removeFolder(temp).catch(() => undefined);
  }
}

/** Undefined for a folder that cannot be read. */
async function listedNames(session: SftpSession, place: string): Promise<ReadonlySet<string> | undefined> {
  try {
    for await (const page of folderPages(session, place)) {
      const names = page.map(({ name }) => name).filter(isOneName);
      if (names.length > 0) return new Set(names);
    }
    return new Set();
  } catch (error) {
    if (isRefusal(error)) return undefined;
    throw error;
  }
}

async function isThere(session: SftpSession, place: string): Promise<boolean> {
  try {
    await session.lstat(place);
    return true;
  } catch (error) {
    if (isRefusal(error)) return false;
    throw error;
  }
}
