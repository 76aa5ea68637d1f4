import { CommandError } from './command-error.ts';

const CHECK_EVERY = 64;

/** How long the work for a result may take, over all commands that ask for parts of it: the time between two of them does not count. */
export class TimeLimit {
  #leftMs: number;
  #resumedAtMs = performance.now();

  /** @param limitMs 0: none. */
  constructor(limitMs: number) {
    this.#leftMs = limitMs === 0 ? Number.POSITIVE_INFINITY : limitMs;
  }

  resume(): void {
    this.#resumedAtMs = performance.now();
  }

  pause(): void {
    this.#leftMs -= performance.now() - this.#resumedAtMs;
  }

  /** The same items; looks at the clock every few of them. @throws CommandError MaxTimeMSExpired */
  *over<Item>(items: Iterable<Item>): Generator<Item> {
    let seen = 0;
    for (const item of items) {
      if (seen++ % CHECK_EVERY === 0 && performance.now() - this.#resumedAtMs > this.#leftMs)
        throw new CommandError('MaxTimeMSExpired', 'operation exceeded time limit');
      yield item;
    }
  }
}
