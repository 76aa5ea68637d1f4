import { PackedNames } from './packed-names.ts';
import type { CallOptions, Entry } from './storage-driver.ts';

/** So many names are quicker as texts, and take little. */
const FEW_NAMES = 1_000;

/** Names that a listing has told of, until it ends. Many of them take few bytes more than they have characters. */
export class NameSet {
  #few: Set<string> | undefined = new Set();
  #many: PackedNames | undefined;

  /** @returns whether it was not there */
  add(name: string): boolean {
    if (this.#many) return this.#many.add(name);
    if (this.#few === undefined || this.#few.has(name)) return false;
    this.#few.add(name);
    if (this.#few.size > FEW_NAMES) {
      this.#many = new PackedNames();
      for (const each of this.#few) this.#many.add(each);
      this.#few = undefined;
    }
    return true;
  }

  /** Of a listing. @returns whether an entry is shown: the first of its name, and for who sees what is behind that the first folder too */
  shows({ name, isDirectory, isLink }: Entry, { seesBehind }: CallOptions): boolean {
    return this.add(seesBehind && isDirectory && !isLink ? `${name}/` : name);
  }

  [Symbol.dispose](): void {
    this.#many?.free();
  }
}
