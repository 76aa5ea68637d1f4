import { forgettable, memoryBytes } from '@wharf/pace';
import type { MountPath } from '@wharf/paths';
import { LRUCache } from 'lru-cache';
import { OwnPart } from '../../driver-contract/own-part.ts';

/** Folders whose names are remembered, of all storages. */
const MAX_FOLDERS = 1_000;
/** Names of all of them: each is remembered with its entry, in up to 2 KiB where names are long. An eighth of the memory. */
const MAX_NAMES = Math.min(300_000, Math.floor(memoryBytes() / 8 / 2_048));

interface Names {
  readonly size: number;
}

/** What is remembered in all storages of a process. @internal for its test */
export const knownNames = (maxNames = MAX_NAMES, max = MAX_FOLDERS) =>
  new LRUCache<string, Names>({ max, maxSize: maxNames, sizeCalculation: ({ size }) => size + 1 });

const ofAll = forgettable(knownNames());

/** What is shown in the folders that were asked for last. A folder may have hundreds of thousands of names, so it is they that are counted, of all storages together. */
export class KnownFolders<Shown extends Names> {
  readonly #known: OwnPart<Names>;

  constructor(all = ofAll) {
    this.#known = new OwnPart(all);
  }

  get(folder: MountPath): Shown | undefined {
    return this.#known.get(folder) as Shown | undefined;
  }

  /** Remembers the names of a folder, where there is room for so many, and forgets folders that were asked for before. */
  set(folder: MountPath, names: Shown): void {
    this.#known.set(folder, names);
  }
}
