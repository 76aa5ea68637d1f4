import type { MountPath } from '@wharf/paths';

/** Folders whose names are remembered. */
const MAX_FOLDERS = 100;
/** Names of all of them, as many as one folder may have: each is remembered with its entry, in some 300 bytes. */
const MAX_NAMES = 300_000;

/** What is shown in the folders that were asked for last. A folder may have hundreds of thousands of names, so it is they that are counted. */
export class KnownFolders<Names extends { readonly size: number }> {
  readonly #folders = new Map<MountPath, Names>();
  readonly #maxNames: number;
  #names = 0;

  constructor(maxNames = MAX_NAMES) {
    this.#maxNames = maxNames;
  }

  get(folder: MountPath): Names | undefined {
    return this.#folders.get(folder);
  }

  /** Remembers the names of a folder, and forgets folders that were asked for before, until there is room; never the one that was given. */
  set(folder: MountPath, names: Names): void {
    this.#forget(folder);
    this.#folders.set(folder, names);
    this.#names += names.size;
    for (const oldest of this.#folders.keys()) {
      if (oldest === folder || (this.#names <= this.#maxNames && this.#folders.size <= MAX_FOLDERS)) return;
      this.#forget(oldest);
    }
  }

  #forget(folder: MountPath): void {
    this.#names -= this.#folders.get(folder)?.size ?? 0;
    this.#folders.delete(folder);
  }
}
