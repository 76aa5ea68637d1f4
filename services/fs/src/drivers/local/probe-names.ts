import fs from 'node:fs';
import { MOUNT_ROOT, type MountPath } from '@wharf/paths';
import type { ConfinedRoot, HeldFolder } from './confined-root.ts';
import { errnoOf } from './errors.ts';
import type { TempArea } from './temp-area.ts';

/** How a disk takes names. */
export interface NameTraits {
  /** `A` and `a` are two entries. */
  readonly caseSensitive: boolean;
  /** Some entries answer to more spellings than their own: another case, or the same letters composed otherwise (NFC, NFD). */
  readonly folds: boolean;
}

/** What a disk says to a name that it cannot keep. */
const NOT_KEPT = new Set(['EILSEQ', 'EINVAL']);
/** So many entries are enough to learn from. */
const MAX_LOOKED_AT = 1000;

/** Tries out how the disk of a root takes names; one that cannot be written to is judged by the names on it. */
export async function probeNames(root: ConfinedRoot, temp: TempArea): Promise<NameTraits> {
  const folder = root.holdFolder(MOUNT_ROOT);
  try {
    const byCase = await tryName(temp, folder, MOUNT_ROOT, 'Aa', 'aA');
    const byForm = await tryName(temp, folder, MOUNT_ROOT, '\u00e9', 'e\u0301');
    return { caseSensitive: !byCase.isFolded, folds: [byCase, byForm].some(({ isFolded, isKept }) => isFolded || !isKept) };
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
    const folds = foldsExisting(folder);
    return { caseSensitive: !folds, folds };
  } finally {
    folder.close();
  }
}

/** Whether an entry that is made with this name in a folder's disk is then listed with it. */
export async function isKeptName(temp: TempArea, folder: HeldFolder, folderPath: MountPath, name: string): Promise<boolean> {
  return (await tryName(temp, folder, folderPath, name, name)).isKept;
}

/** Makes an entry in a temporary folder. */
async function tryName(temp: TempArea, folder: HeldFolder, folderPath: MountPath, name: string, other: string) {
  const { ref } = temp.create(folder, folderPath, (place) => fs.mkdirSync(place, 0o700));
  try {
    return await temp.at(ref, async (place) => {
      fs.mkdirSync(`${place}/${name}`, 0o700);
      return { isKept: fs.readdirSync(place).includes(name), isFolded: isThere(`${place}/${other}`) };
    });
  } catch (error) {
    if (!NOT_KEPT.has(errnoOf(error) ?? '')) throw error;
    return { isKept: true, isFolded: false };
  } finally {
    await temp.discard(ref);
  }
}

/** Where no name tells it, names are taken to fold: that is right on every disk and costs time only. */
function foldsExisting(folder: HeldFolder): boolean {
  let names: ReadonlySet<string>;
  try {
    names = new Set(fs.readdirSync(folder.prefix));
  } catch {
    // Folders that are closed to us are reached by name only where no spelling has to be compared.
    return process.platform !== 'linux';
  }
  let isTold = false;
  for (const name of [...names].slice(0, MAX_LOOKED_AT)) {
    for (const other of [swapCase(name), name.normalize('NFC'), name.normalize('NFD')]) {
      if (names.has(other)) continue;
      if (isThere(folder.prefix + other)) return true;
      isTold = true;
    }
  }
  return !isTold;
}

function swapCase(name: string): string {
  return name.replace(/[a-z]/gi, (letter) => (letter < 'a' ? letter.toLowerCase() : letter.toUpperCase()));
}

function isThere(place: string): boolean {
  return fs.lstatSync(place, { throwIfNoEntry: false }) !== undefined;
}
