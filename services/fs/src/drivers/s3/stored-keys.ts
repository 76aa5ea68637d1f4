/**
 * What this process stores, and what it removes because it is old, kept from crossing: a store lists and removes in two calls, and what is stored between them
 * would go for what it replaced.
 */
export class StoredKeys {
  readonly #storing = new Map<string, number>();
  readonly #watches = new Set<Set<string>>();
  readonly #removing = new Map<string, Promise<unknown>>();

  /** Runs what stores something under a key, once a removal of what is there is over. */
  async storing<Result>(key: string, store: () => Promise<Result>): Promise<Result> {
    for (let removal = this.#removing.get(key); removal; removal = this.#removing.get(key)) await removal.catch(() => undefined);
    this.#storing.set(key, (this.#storing.get(key) ?? 0) + 1);
    for (const watch of this.#watches) watch.add(key);
    try {
      return await store();
    } finally {
      const others = (this.#storing.get(key) ?? 1) - 1;
      if (others > 0) this.#storing.set(key, others);
      else this.#storing.delete(key);
    }
  }

  /** From before something is looked at until it is removed. */
  watch(): KeyWatch {
    const stored = new Set(this.#storing.keys());
    this.#watches.add(stored);
    return {
      remove: async (keys, remove) => {
        const unchanged = keys.filter((key) => !stored.has(key));
        if (unchanged.length === 0) return 0;
        const removal = remove(unchanged);
        for (const key of unchanged) this.#removing.set(key, removal);
        try {
          await removal;
        } finally {
          for (const key of unchanged) if (this.#removing.get(key) === removal) this.#removing.delete(key);
        }
        return unchanged.length;
      },
      [Symbol.dispose]: () => void this.#watches.delete(stored),
    };
  }
}

interface KeyWatch extends Disposable {
  /** Removes of these keys those that nothing was stored under since. @returns how many these were */
  remove(keys: readonly string[], remove: (keys: readonly string[]) => Promise<void>): Promise<number>;
}
