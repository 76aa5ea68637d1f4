import type { LRUCache } from 'lru-cache';

let owners = 0;

/** What one storage, or one opening of it, keeps in a cache that is bounded for all of them together: its keys are its own. */
export class OwnPart<Value extends object> {
  readonly #all: LRUCache<string, Value>;
  readonly #own: number;

  constructor(all: LRUCache<string, Value>) {
    this.#all = all;
    owners += 1;
    this.#own = owners;
  }

  get(key: string): Value | undefined {
    return this.#all.get(`${this.#own} ${key}`);
  }

  set(key: string, value: Value): void {
    this.#all.set(`${this.#own} ${key}`, value);
  }

  delete(key: string): void {
    this.#all.delete(`${this.#own} ${key}`);
  }
}
