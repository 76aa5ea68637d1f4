import type { MountPath } from '@wharf/paths';

/** Folders whose names are remembered. */
const MAX_FOLDERS = 100;
/** What the names of all of them may take, in bytes: 200,000 names of 20 letters. */
const MAX_BYTES = 64 * 1024 * 1024;
/** What a name takes with its entry, beside its letters. */
const NAME_BYTES = 300;
const LETTER_BYTES = 2;

/** What is shown in the folders that were asked for last. */
export class KnownFolders<Names extends { keys(): Iterable<string> }> {
  readonly #folders = new Map<MountPath, { readonly names: Names; readonly bytes: number }>();
  readonly #maxBytes: number;
  #bytes = 0;

  constructor(maxBytes = MAX_BYTES) {
    this.#maxBytes = maxBytes;
  }

  get(folder: MountPath): Names | undefined {
    return this.#folders.get(folder)?.names;
  }

  /** Remembers the names of a folder, and forgets folders that were asked for before, until there is room. Those of a folder that is too large are not remembered. */
  set(folder: MountPath, names: Names): void {
    this.#forget(folder);
    let bytes = 0;
    for (const name of names.keys()) {
      bytes += NAME_BYTES + LETTER_BYTES * name.length;
      if (bytes > this.#maxBytes) return;
    }
    this.#folders.set(folder, { names, bytes });
    this.#bytes += bytes;
    for (const oldest of this.#folders.keys()) {
      if (this.#bytes <= this.#maxBytes && this.#folders.size <= MAX_FOLDERS) return;
      this.#forget(oldest);
    }
  }

  #forget(folder: MountPath): void {
    this.#bytes -= this.#folders.get(folder)?.bytes ?? 0;
    this.#folders.delete(folder);
  }
}
