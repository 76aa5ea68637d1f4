import fs from 'node:fs';
import { LRUCache } from 'lru-cache';

/** FAT keeps times in steps of two seconds: a folder that changed within this time may change again without a new time on it. */
const SETTLED_AFTER_MS = 3000;
/** Of all folders together, each about 100 bytes; a folder with more is read each time. */
const MAX_KEPT_NAMES = 300_000;

/** A folder that is held. */
interface Folder {
  readonly prefix: string;
  stat(): fs.BigIntStats;
}

/** The names in folders of a disk that folds names, as they are spelled there. Names of settled folders are kept. Blocks. */
export class SpelledNames {
  readonly #kept = new LRUCache<string, ReadonlySet<string>>({ maxSize: MAX_KEPT_NAMES, sizeCalculation: ({ size }) => size + 1 });

  /** Places in `names` of those that the folder does not have, or has in another spelling. @throws errors of the system */
  absentIn(folder: Folder, names: readonly string[]): number[] {
    const { dev, ino, mtimeNs, ctimeNs, ctimeMs } = folder.stat();
    const version = `${dev}-${ino}-${mtimeNs}-${ctimeNs}`;
    // What was kept only ever says yes: a name that appeared without a new time is looked for on the disk.
    const kept = this.#kept.get(version);
    if (kept !== undefined && names.every((name) => kept.has(name))) return [];
    const present = new Set(fs.readdirSync(folder.prefix));
    if (Number(ctimeMs) < Date.now() - SETTLED_AFTER_MS) this.#kept.set(version, present);
    return names.flatMap((name, index) => (present.has(name) ? [] : [index]));
  }
}
