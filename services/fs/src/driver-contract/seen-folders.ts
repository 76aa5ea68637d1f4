import type { MountPath } from '@wharf/paths';

/** How long a look at a folder counts for what comes into it, in milliseconds. */
const COUNTS_MS = 1_000;
const MAX_SEEN = 1_000;

/** Folders that were seen a moment ago: files that come into one in a row need one look at it. */
export class SeenFolders {
  /** Until when it counts, by the clock of the process. */
  readonly #untilMs = new Map<MountPath, number>();

  has(folder: MountPath): boolean {
    return (this.#untilMs.get(folder) ?? 0) > performance.now();
  }

  /** It is there. */
  add(folder: MountPath): void {
    if (this.#untilMs.size >= MAX_SEEN) this.#untilMs.clear();
    this.#untilMs.set(folder, performance.now() + COUNTS_MS);
  }

  /** Folders have moved, or are gone. */
  clear(): void {
    this.#untilMs.clear();
  }
}
