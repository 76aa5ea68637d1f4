/** How long, in milliseconds, tasks that are at their limit are not counted again. */
const COUNT_AGAIN_MS = 2_000;
/** The cost of a count grows with the number of tasks: it takes a twentieth of the time at most. */
const REST_FACTOR = 20;

/** How many tasks have not ended, of a user or of all, without counting them for each that is added. */
export interface OpenTally {
  /** Takes room for this many more, unless there would be more than `most`. The count waits for what is on its way only where that decides. */
  take(count: number, most: number): Promise<boolean>;
  /** How many there are, as far as is known. */
  known(): number;
  /** What was taken is in the store now, or may be: it is counted from now on. */
  settle(count: number): void;
  /** What was taken is not going to be in the store. */
  giveBack(count: number): void;
}

export interface OpenTallyOptions {
  /** Counts those in the store, up to more than any `most`. */
  readonly count: () => Promise<number>;
  /** No fewer than those, where that is known for less: it is asked first. */
  readonly atMost?: () => Promise<number>;
  /** After so many were added they are counted again: other replicas add and end tasks, too. */
  readonly countAfter: number;
  /** Monotonic. */
  readonly nowMs: () => number;
}

export function createOpenTally({ count, atMost = count, countAfter, nowMs }: OpenTallyOptions): OpenTally {
  /** In the store when they were last counted; undefined: never. */
  let counted: number | undefined;
  /** Since then, and those that the count may have missed. */
  let added = 0;
  /** Taken, and not settled yet: nobody knows whether a count has them. */
  let onWay = 0;
  /** Nothing was on its way when they were counted, and no others were counted with them. */
  let isExact = false;
  let countAgainMs = 0;
  let looking: Promise<void> | undefined;
  let whenSettled: (() => void)[] = [];

  const fits = (more: number, most: number) => (counted ?? 0) + added + more <= most;
  const isFresh = (more: number, most: number) =>
    counted !== undefined && (fits(more, most) ? added + more <= countAfter : isExact && nowMs() < countAgainMs);
  const settled = () => new Promise<void>((resolve) => void whenSettled.push(resolve));

  const look = async (more: number, most: number): Promise<void> => {
    for (let ask = atMost; ; ask = count) {
      const [missed, before, startedMs] = [onWay, added, nowMs()];
      counted = await ask();
      added = missed + added - before;
      isExact = missed === 0 && ask === count;
      countAgainMs = nowMs() + Math.max(COUNT_AGAIN_MS, REST_FACTOR * (nowMs() - startedMs));
      if (isExact || fits(more, most)) return;
      if (onWay > 0) await settled();
    }
  };

  const settle = (settling: number) => {
    onWay -= settling;
    if (onWay > 0) return;
    for (const resolve of whenSettled) resolve();
    whenSettled = [];
  };

  return {
    async take(more, most) {
      // One looks, and the others take what it has found.
      while (looking) await looking;
      if (!isFresh(more, most)) {
        looking = look(more, most).finally(() => {
          looking = undefined;
        });
        await looking;
      }
      if (!fits(more, most)) return false;
      added += more;
      onWay += more;
      return true;
    },
    known: () => (counted ?? 0) + added,
    settle,
    giveBack(unused) {
      added -= unused;
      settle(unused);
    },
  };
}
