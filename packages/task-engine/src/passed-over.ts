import { LRUCache } from 'lru-cache';

/** Writes may become visible in another order than that of their times. Tasks younger than this, in milliseconds, are looked at again. */
const UNSETTLED_MS = 1_000;
/** How often all tasks are looked at anyway, in milliseconds. A task of a lost worker comes back with its old time. */
const KNOWN_FOR_MS = 10_000;
/** Combinations of keys that are known. */
const MAX_KNOWN = 64;

interface Known {
  readonly kind: string;
  readonly keys: readonly string[];
  /** Every task of the kind that is due before this has one of the keys. */
  readonly until: Date;
  /** When all of them were looked at. */
  readonly atMs: number;
}

/** Where to begin to look. */
export type Start = Pick<Known, 'atMs'> & { readonly from: Date | undefined };

/**
 * Remembers up to which due time all waiting tasks have closed keys. So a claim does not pass over thousands of them each time.
 *
 * @param nowMs monotonic
 */
export function createPassedOver(nowMs: () => number) {
  const known = new LRUCache<string, Known>({ max: MAX_KNOWN });
  return {
    /** Nothing that is due before `from` can be taken while these keys are closed. */
    start(kind: string, closed: readonly string[]): Start {
      let best: Start = { from: undefined, atMs: nowMs() };
      for (const each of known.values()) {
        if (each.kind !== kind || nowMs() - each.atMs >= KNOWN_FOR_MS || !each.keys.every((key) => closed.includes(key))) continue;
        if (best.from === undefined || each.until > best.from) best = { from: each.until, atMs: each.atMs };
      }
      return best;
    },
    /** @param first when the first task that could be taken is due; undefined: none was there at `asked` */
    note(kind: string, closed: readonly string[], start: Start, first: Date | undefined, asked: Date): void {
      if (closed.length === 0) return;
      const until = new Date(Math.min((first ?? asked).getTime(), asked.getTime() - UNSETTLED_MS));
      known.set(JSON.stringify([kind, ...closed]), { kind, keys: closed, until, atMs: start.atMs });
    },
    /** Tasks came back with their old times. */
    forget(): void {
      known.clear();
    },
  };
}

export type PassedOver = ReturnType<typeof createPassedOver>;
