import { createSeenFolders } from '../../driver-contract/seen-folders.ts';

/** Keys of all folders right in a folder; undefined: there are too many to be told at once. */
type FoldersIn = Promise<Set<string> | undefined>;

interface Seen {
  folders: FoldersIn | undefined;
}

/**
 * What was seen of folders a moment ago: files that come into one in a row need one look at it, and one at what folders are in it. A folder is named by its
 * key without a slash at the end; the root is an empty text.
 */
export class KnownFolders {
  readonly #seen = createSeenFolders<string, Seen>();

  has(folder: string): boolean {
    return this.#seen.has(folder);
  }

  /** It is there. */
  note(folder: string): void {
    this.#seen.set(folder, { folders: undefined });
  }

  /**
   * The folders in one that is known.
   *
   * @param ask the store, once for all who want to know. @returns undefined where it is not known, or has too many
   */
  async foldersIn(folder: string, ask: () => FoldersIn): FoldersIn {
    const seen = this.#seen.get(folder);
    if (seen === undefined) return undefined;
    // Whoever it fails for looks by itself.
    seen.folders ??= ask().catch(() => undefined);
    return seen.folders;
  }

  /** We made something in the last of these folders, each of which is in the one before. What was asked meanwhile need not tell of it. */
  made(folders: readonly string[]): void {
    for (const [index, folder] of folders.entries()) {
      const { folders: known } = this.#seen.get(folders[index - 1] ?? '') ?? {};
      void known?.then((names) => names?.add(folder));
    }
  }

  /** It is a folder no more, perhaps. */
  forget(folder: string): void {
    this.#seen.delete(folder);
  }

  clear(): void {
    this.#seen.clear();
  }
}
