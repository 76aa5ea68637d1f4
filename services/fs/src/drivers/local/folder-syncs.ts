import type { HeldFolder } from './confined-root.ts';
import { syncFolder } from './sync-folder.ts';

interface Place {
  last: Promise<void>;
  /** Not begun yet: whoever comes now shares it. */
  next: Promise<void> | undefined;
}

/**
 * Makes names of folders durable, each folder one sync at a time: those who changed it while one runs share the next. A failure is that of those who
 * shared the sync; the next one opens the folder anew.
 */
export class FolderSyncs {
  readonly #places = new Map<string, Place>();
  readonly #sync: typeof syncFolder;

  constructor(sync = syncFolder) {
    this.#sync = sync;
  }

  /** @param folder held until this has ended */
  async sync(folder: HeldFolder): Promise<void> {
    const { dev, ino } = folder.stat();
    const key = `${dev} ${ino}`;
    const place: Place = this.#places.get(key) ?? { last: Promise.resolve(), next: undefined };
    this.#places.set(key, place);
    if (place.next === undefined) {
      const begin = () => {
        place.next = undefined;
        return this.#sync(folder);
      };
      place.next = place.last.then(begin, begin);
      place.last = place.next;
    }
    const shared = place.next;
    try {
      await shared;
    } finally {
      if (place.last === shared) this.#places.delete(key);
    }
  }
}
