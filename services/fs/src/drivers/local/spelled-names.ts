import fs from 'node:fs';
import { KeptNames } from '../../driver-contract/folding.ts';

/** A folder that is held. */
interface Folder {
  readonly prefix: string;
  stat(): fs.BigIntStats;
}

/** The names in folders of a disk that folds names, as they are spelled there. Names of settled folders are kept. Blocks. */
export class SpelledNames {
  readonly #kept = new KeptNames();

  /** Places in `names` of those that the folder does not have, or has in another spelling. @throws errors of the system */
  absentIn(folder: Folder, names: readonly string[]): number[] {
    const { dev, ino, mtimeNs, ctimeNs, ctimeMs } = folder.stat();
    const version = `${dev}-${ino}-${mtimeNs}-${ctimeNs}`;
    if (this.#kept.hasAll(version, names)) return [];
    const present = new Set(fs.readdirSync(folder.prefix));
    this.#kept.keep(version, present, Number(ctimeMs));
    return names.flatMap((name, index) => (present.has(name) ? [] : [index]));
  }
}
