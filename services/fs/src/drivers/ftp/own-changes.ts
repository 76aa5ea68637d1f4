import type { MountPath } from '@wharf/paths';
import { PathLocks } from '../../driver-contract/path-locks.ts';

/**
 * What this process changes in one storage. The protocol cannot ask and change in one step: among the calls of one process this does it; between
 * processes whoever is later wins.
 */
export class OwnChanges {
  readonly #locks = new PathLocks();
  readonly #watched = new Map<MountPath, Set<{ hasChanged: boolean }>>();

  /** Runs work that changes what is at a path after that of others which does. */
  alone<Result>(path: MountPath, work: () => Promise<Result>): Promise<Result> {
    return this.#locks.run(path, work);
  }

  /** Tells those who watch it. */
  changed(path: MountPath): void {
    for (const watcher of this.#watched.get(path) ?? []) watcher.hasChanged = true;
  }

  watch(path: MountPath): { hasChanged(): boolean; end(): void } {
    const own = { hasChanged: false };
    const all = this.#watched.get(path) ?? new Set();
    this.#watched.set(path, all.add(own));
    return {
      hasChanged: () => own.hasChanged,
      end: () => {
        all.delete(own);
        if (all.size === 0 && this.#watched.get(path) === all) this.#watched.delete(path);
      },
    };
  }
}
