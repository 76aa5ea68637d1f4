import { ownText } from '@wharf/pace';

/** What all names take at most together, in bytes, and each beside its letters. */
const [MAX_BYTES, NAME_BYTES] = [16 * 1024 * 1024, 64];

/** What is known of names, for each of many that ask. Names may be made up: all that is known takes so much together, and what is more makes all of it forgotten. */
export class RememberedNames {
  readonly #maxBytes: number;
  /** What belongs to an asker that is gone goes with it. */
  #ofAskers = new WeakMap<object, Map<string, boolean>>();
  #bytes = 0;

  constructor(maxBytes = MAX_BYTES) {
    this.#maxBytes = maxBytes;
  }

  /** In bytes. */
  get size(): number {
    return this.#bytes;
  }

  clear(): void {
    [this.#ofAskers, this.#bytes] = [new WeakMap(), 0];
  }

  get(asker: object, name: string): boolean | undefined {
    return this.#ofAskers.get(asker)?.get(name);
  }

  /** Of a name that is not known yet. */
  set(asker: object, name: string, value: boolean): void {
    const bytes = NAME_BYTES + name.length;
    if (this.#bytes + bytes > this.#maxBytes) this.clear();
    this.#bytes += bytes;
    const names = this.#ofAskers.get(asker) ?? new Map<string, boolean>();
    this.#ofAskers.set(asker, names.set(ownText(name), value));
  }
}
