/** The longest that a cache goes without looking whether its data changed, in milliseconds (design: <= 5 s when events are lost). */
export const MAX_CACHE_AGE_MS = 5_000;

/** A copy of another service's data. It holds data, never decisions. */
export interface RevisionedCache<Value> {
  /** The data, at least as new as `minRevision` and never older than MAX_CACHE_AGE_MS. @throws whatever loading throws */
  get(minRevision?: number): Promise<Value>;
  /** The same where nothing has to be waited for, else undefined. */
  peek(minRevision?: number): Value | undefined;
  /** Makes the next get() look again. */
  invalidate(): void;
}

interface Held<Value> {
  readonly value: Value;
  readonly revision: number;
  checkedAt: number;
}

/**
 * @param options.readRevision the owner's counter, which rises after every change of the data.
 * @param options.load all the data.
 * @param options.clock milliseconds; monotonic is best.
 */
export function createRevisionedCache<Value>(options: {
  readRevision: () => Promise<number>;
  load: () => Promise<Value>;
  clock: () => number;
}): RevisionedCache<Value> {
  let held: Held<Value> | undefined;
  let loading: Promise<Held<Value>> | undefined;
  let generation = 0;

  const refresh = async (): Promise<Held<Value>> => {
    const startedAt = options.clock();
    const startedIn = generation;
    const revision = await options.readRevision();
    const next = held && held.revision === revision ? held : { value: await options.load(), revision, checkedAt: 0 };
    // An invalidation that came while loading leaves the data usable once, but not fresh.
    next.checkedAt = generation === startedIn ? startedAt : startedAt - MAX_CACHE_AGE_MS;
    held = next;
    return next;
  };
  const refreshOnce = (): Promise<Held<Value>> => {
    loading ??= refresh().finally(() => {
      loading = undefined;
    });
    return loading;
  };

  const findFresh = (minRevision: number): Held<Value> | undefined => {
    const age = held ? options.clock() - held.checkedAt : Number.POSITIVE_INFINITY;
    if (!held || held.revision < minRevision || age >= MAX_CACHE_AGE_MS) return undefined;
    if (age > MAX_CACHE_AGE_MS / 2) refreshOnce().catch(() => {});
    return held;
  };

  return {
    peek: (minRevision = 0) => findFresh(minRevision)?.value,
    async get(minRevision = 0) {
      const fresh = findFresh(minRevision);
      if (fresh) return fresh.value;
      const first = await refreshOnce();
      // A load that was under way already may have begun before the wanted revision was written.
      return first.revision >= minRevision ? first.value : (await refreshOnce()).value;
    },
    invalidate() {
      generation += 1;
      if (held) held.checkedAt = Number.NEGATIVE_INFINITY;
    },
  };
}
