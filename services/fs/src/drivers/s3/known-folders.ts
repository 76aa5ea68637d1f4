/** How long a look at a folder counts for other files in it, in milliseconds. */
const KNOWN_MS = 1_000;
const MAX_KNOWN = 1_000;

/** Keys of all folders right in a folder; undefined: there are too many to be told at once. */
type FoldersIn = Promise<Set<string> | undefined>;

interface Seen {
  /** By the clock of the process. */
  readonly untilMs: number;
  folders: FoldersIn | undefined;
}

/**
 * What was seen of folders a moment ago: files that come into one in a row need one look at it, and one at what folders are in it. A folder is named by its
 * key without a slash at the end; the root is an empty text.
 */
export class KnownFolders {
  readonly #seen = new Map<string, Seen>();

  has(folder: string): boolean {
    return this.#fresh(folder) !== undefined;
  }

  /** It is there. */
  note(folder: string): void {
    if (this.#seen.size >= MAX_KNOWN) this.#seen.clear();
    this.#seen.set(folder, { untilMs: performance.now() + KNOWN_MS, folders: undefined });
  }

  /**
   * The folders in one that is known.
   *
   * @param ask the store, once for all who want to know. @returns undefined where it is not known, or has too many
   */
  async foldersIn(folder: string, ask: () => FoldersIn): FoldersIn {
    const seen = this.#fresh(folder);
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

  #fresh(folder: string): Seen | undefined {
    const seen = this.#seen.get(folder);
    return seen && seen.untilMs > performance.now() ? seen : undefined;
  }
}
