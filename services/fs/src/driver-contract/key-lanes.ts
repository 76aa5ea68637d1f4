import { createLane, type Lane } from './lane.ts';
import type { CallOptions } from './storage-driver.ts';

interface Shared {
  readonly lane: Lane;
  users: number;
}

/** So many at a time do something together. */
const TOGETHER = 64;

/** Lets one at a time do something under a key, or several that may be together, callers by turns. Of this process alone. */
export class KeyLanes {
  readonly #lanes = new Map<string, Shared>();
  readonly #waitMs: number;

  /** @param waitMs for so long one waits that is not patient */
  constructor(waitMs: number) {
    this.#waitMs = waitMs;
  }

  /**
   * @param isTogether with others that may be so, too
   * @param work is told whether somebody was there before: what was looked at by then may have changed
   * @throws AppError OVERLOADED: the turn did not come in time | CANCELLED; what the work throws
   */
  async run<Result>(
    key: string,
    options: CallOptions,
    isTogether: boolean,
    work: (hasWaited: boolean) => Promise<Result>,
  ): Promise<Result> {
    const known = this.#lanes.get(key);
    const shared = known ?? { lane: createLane({ size: TOGETHER, share: TOGETHER, waitMs: this.#waitMs }), users: 0 };
    this.#lanes.set(key, shared);
    shared.users += 1;
    try {
      return await shared.lane.run(options, () => work(known !== undefined), isTogether ? 1 : TOGETHER);
    } finally {
      shared.users -= 1;
      if (shared.users === 0) this.#lanes.delete(key);
    }
  }
}
