/** A storage's share of the I/O threads of the process, which are four unless UV_THREADPOOL_SIZE says otherwise. */
const MAX_HELD = 3;

/** Lets one storage hold some of the I/O threads of the process only: when its disk hangs, the rest still reads and writes for the others. */
export class IoSlots {
  readonly #waiting: Array<() => void> = [];
  #held = 0;

  /** @param work one read or write. Runs at once, or when another of the same storage has ended. */
  async run<Result>(work: () => Promise<Result>): Promise<Result> {
    if (this.#held < MAX_HELD) this.#held += 1;
    // A caller that leaves hands its slot on.
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      if (next) next();
      else this.#held -= 1;
    }
  }
}
