import fs from 'node:fs';
import { systemCodeOf } from '@wharf/errors';
import { MOUNT_ROOT, type MountPath } from '@wharf/paths';
import { existingTraits, type NameTraits, type TriedName, triedTraits } from '../../driver-contract/folding.ts';
import type { ConfinedRoot, HeldFolder } from './confined-root.ts';
import type { TempArea } from './temp-area.ts';

/** What a disk says to a name that it cannot keep. */
const NOT_KEPT = new Set(['EILSEQ', 'EINVAL']);

/** Tries out how the disk of a root takes names; one that cannot be written to is judged by the names on it. */
export async function probeNames(root: ConfinedRoot, temp: TempArea): Promise<NameTraits> {
  const folder = root.holdFolder(MOUNT_ROOT);
  try {
    return await triedTraits((name, other) => tryName(temp, folder, MOUNT_ROOT, name, other));
  } catch (error) {
    if (systemCodeOf(error) === undefined) throw error;
    return await judgeExisting(folder);
  } finally {
    folder.close();
  }
}

/** Whether an entry that is made with this name in a folder's disk is then listed with it. */
export async function isKeptName(temp: TempArea, folder: HeldFolder, folderPath: MountPath, name: string): Promise<boolean> {
  return (await tryName(temp, folder, folderPath, name, name)).isKept;
}

/** Makes an entry in a temporary folder. */
async function tryName(temp: TempArea, folder: HeldFolder, folderPath: MountPath, name: string, other: string): Promise<TriedName> {
  const { ref } = temp.create(folder, folderPath, (place) => fs.mkdirSync(place, 0o700));
  try {
    return await temp.at(ref, async (place) => {
      fs.mkdirSync(`${place}/${name}`, 0o700);
      return { isKept: fs.readdirSync(place).includes(name), isFolded: isThere(`${place}/${other}`) };
    });
  } catch (error) {
    if (!NOT_KEPT.has(systemCodeOf(error) ?? '')) throw error;
    return { isKept: true, isFolded: false };
  } finally {
    await temp.discard(ref);
  }
}

function judgeExisting(folder: HeldFolder): Promise<NameTraits> | NameTraits {
  let names: string[];
  try {
    names = fs.readdirSync(folder.prefix);
  } catch {
    // Folders that are closed to us are reached by name only where no spelling has to be compared.
    const folds = process.platform !== 'linux';
    return { caseSensitive: !folds, folds };
  }
  return existingTraits(names, (name) => isThere(folder.prefix + name));
}

function isThere(place: string): boolean {
  return fs.lstatSync(place, { throwIfNoEntry: false }) !== undefined;
}
