/** Lets one at a time do something with a path, in the order in which they come. Of this process alone. */
export class PathLocks {
  readonly #last = new Map<string, Promise<unknown>>();

  async run<Result>(path: string, work: () => Promise<Result>): Promise<Result> {
    const before = this.#last.get(path);
    const mine = (async () => {
      await before?.catch(() => undefined);
      return work();
    })();
    this.#last.set(path, mine);
    try {
      return await mine;
    } finally {
      if (this.#last.get(path) === mine) this.#last.delete(path);
    }
  }
}
