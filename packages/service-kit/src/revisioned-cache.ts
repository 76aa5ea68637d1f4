import { createGate, isSame, isYounger } from '@wharf/pace';
import { createStoreAsker, MAX_KEPT_MS } from './ask-store.ts';

/** How long a cache may go without checking whether its data changed, in milliseconds. It matters when events are lost. */
export const MAX_CACHE_AGE_MS = 5_000;
/** How often data is read anew although its revision is the same, in milliseconds. A change that could not be counted is seen then. */
const RELOAD_MS = 60_000;

/** A copy of another service's data. It holds data, never decisions. */
export interface RevisionedCache<Value> {
  /**
   * The data, at least as new as `minRevision` and never older than MAX_CACHE_AGE_MS.
   * @throws AppError STORAGE_UNAVAILABLE: the store does not answer; whatever loading throws
   */
  get(minRevision?: number): Promise<Value>;
  /** The same for reads. While the store does not answer, it answers data up to MAX_KEPT_MS old, unless a newer revision was announced. */
  getKept(minRevision?: number): Promise<Value>;
  /** The same as get() when the data is at hand, else undefined. */
  peek(minRevision?: number): Value | undefined;
  /** Notes that a newer revision was announced: the next get() checks again. */
  invalidate(): void;
}

interface Held<Data, Value> {
  readonly data: Data;
  readonly value: Value;
  readonly revision: number;
  readonly loadedAt: number;
  checkedAt: number;
}

/**
 * @param options.readRevision the owner's counter, which rises after every change of the data.
 * @param options.load all the data.
 * @param options.make what is answered; the same data is answered as the same value.
 * @param options.clock milliseconds; monotonic is best.
 */
export function createRevisionedCache<Data, Value>(options: {
  readRevision: () => Promise<number>;
  load: () => Promise<Data>;
  make: (data: Data) => Value | Promise<Value>;
  clock: () => number;
}): RevisionedCache<Value> {
  const { clock } = options;
  const store = createStoreAsker();
  let held: Held<Data, Value> | undefined;
  let loading: Promise<Held<Data, Value>> | undefined;
  let generation = 0;
  /** One at a time, of what was given up too: what is made may have effects, and those of the last one are to be of what is held. */
  const making = createGate(1);

  const read = async (revision: number, startedAt: number): Promise<Held<Data, Value>> => {
    if (held?.revision === revision && isYounger(held.loadedAt, startedAt, RELOAD_MS)) return held;
    // Data that is known to have changed is not answered.
    if (held && held.revision !== revision) held.checkedAt = Number.NEGATIVE_INFINITY;
    const known = held;
    const data = await options.load();
    return making.run(async () => {
      // It was given up, and newer data read since: nothing is made of what is old. By itself a counter goes back with a store that is put back.
      if (held && held !== known && held.revision > revision) return held;
      const before = held;
      const value = before && (await isSame(data, before.data)) ? before.value : await options.make(data);
      held = { data, value, revision, loadedAt: startedAt, checkedAt: Number.NEGATIVE_INFINITY };
      return held;
    });
  };
  const refresh = async (): Promise<Held<Data, Value>> => {
    const startedAt = clock();
    const startedIn = generation;
    const next = await read(await options.readRevision(), startedAt);
    // An invalidation that came while loading leaves the data usable once, but not fresh.
    next.checkedAt = generation === startedIn ? startedAt : Number.NEGATIVE_INFINITY;
    return next;
  };
  const refreshOnce = (): Promise<Held<Data, Value>> => {
    loading ??= store.ask(refresh()).finally(() => {
      loading = undefined;
    });
    return loading;
  };

  const findHeld = (minRevision: number, maxAgeMs: number): Held<Data, Value> | undefined =>
    held && held.revision >= minRevision && isYounger(held.checkedAt, clock(), maxAgeMs) ? held : undefined;
  const findFresh = (minRevision: number): Held<Data, Value> | undefined => {
    const fresh = findHeld(minRevision, MAX_CACHE_AGE_MS);
    if (fresh && clock() - fresh.checkedAt > MAX_CACHE_AGE_MS / 2) refreshOnce().catch(() => {});
    return fresh;
  };
  const load = async (minRevision: number): Promise<Held<Data, Value>> => {
    const first = await refreshOnce();
    // A load that was under way already may have begun before the wanted revision was written.
    return first.revision >= minRevision ? first : refreshOnce();
  };

  return {
    peek: (minRevision = 0) => findFresh(minRevision)?.value,
    get: async (minRevision = 0) => (findFresh(minRevision) ?? (await load(minRevision))).value,
    async getKept(minRevision = 0) {
      const fresh = findFresh(minRevision);
      if (fresh) return fresh.value;
      return (await store.askOrKeep(load(minRevision), () => findHeld(minRevision, MAX_KEPT_MS))).value;
    },
    invalidate() {
      generation += 1;
      if (held) held.checkedAt = Number.NEGATIVE_INFINITY;
    },
  };
}
