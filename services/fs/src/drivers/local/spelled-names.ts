import fs from 'node:fs';
import { KeptNames } from '../../driver-contract/folding.ts';
import { direntsOf } from './names-in.ts';

/** A folder that is held. */
interface Folder {
  readonly prefix: string;
  stat(): fs.BigIntStats;
}

/** The names of a folder that has more letters in them are not gathered: they would not be kept, and each look of a thread would fill its heap with them. */
const MOST_LETTERS = 4 * 1024 * 1024;
/**
 * So long, in milliseconds, at most, a name that stays listed counts as listed though its folder changes: each removal of many changes it. And so long what a folder
 * that rests does not list is not looked for in it again, however many ask.
 */
const LISTED_MS = 5_000;
/** What changed so long, in milliseconds, before that time or later may have come meanwhile: some disks keep no time of a folder that files come into, and clocks differ. */
const NEW_MS = 5_000;

/** The names in folders of a disk that folds names, as they are spelled there. Names of settled folders are kept. Blocks. */
export class SpelledNames {
  readonly #kept = new KeptNames();
  readonly #mostLetters: number;

  /** @param mostLetters another number than the standard one is given by tests only */
  constructor(mostLetters = MOST_LETTERS) {
    this.#mostLetters = mostLetters;
  }

  /**
   * Places in `names` of those that the folder does not have, or has in another spelling.
   *
   * @param isKept others are never asked for. @param staysListed what was listed by these names is never found by them otherwise. @throws errors of the system
   */
  absentIn(folder: Folder, names: readonly string[], isKept: (name: string) => boolean = () => true, staysListed = false): number[] {
    const { dev, ino, mtimeNs, ctimeNs, ctimeMs } = folder.stat();
    const version = `${dev}-${ino}-${mtimeNs}-${ctimeNs}`;
    const now = Math.floor(Date.now() / LISTED_MS);
    const [ofNow, ofVersionNow] = [`${dev}-${ino} ${now}`, `${version} ${now}`];
    if (this.#kept.hasAll(version, names) || (staysListed && this.#kept.hasAll(ofNow, names))) return [];
    const lacked = this.#kept.lackedBy(ofVersionNow, names);
    if (lacked && !mayBeNew(folder, lacked, now * LISTED_MS - NEW_MS)) return placesOf(names, lacked);
    const absent = new Set(names);
    let present: Set<string> | undefined = new Set();
    let letters = 0;
    for (const { name } of direntsOf(folder.prefix)) {
      absent.delete(name);
      if (!isKept(name)) continue;
      letters += name.length;
      if (letters > this.#mostLetters) present = undefined;
      present?.add(name);
    }
    if (present && this.#kept.keep(version, present, Number(ctimeMs))) this.#kept.keep(ofVersionNow, present, Number(ctimeMs));
    else if (present && staysListed) this.#kept.keep(ofNow, present, 0);
    return placesOf(names, absent);
  }
}

function mayBeNew({ prefix }: Folder, names: ReadonlySet<string>, sinceMs: number): boolean {
  return [...names].some((name) => (fs.lstatSync(prefix + name, { throwIfNoEntry: false })?.ctimeMs ?? 0) >= sinceMs);
}

function placesOf(names: readonly string[], wanted: ReadonlySet<string>): number[] {
  return names.flatMap((name, index) => (wanted.has(name) ? [index] : []));
}
