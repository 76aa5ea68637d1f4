/** What is remembered and can be read or made again. */
interface Forgettable {
  readonly size: number;
  clear(): void;
}

const known = new Set<WeakRef<Forgettable>>();
const gone = new FinalizationRegistry<WeakRef<Forgettable>>((cache) => known.delete(cache));

/** Has a cache emptied when memory is nearly used up, before the calls of anybody end. It is held by its owner alone. @returns the cache */
export function forgettable<Cache extends Forgettable>(cache: Cache): Cache {
  const held = new WeakRef(cache);
  known.add(held);
  gone.register(cache, held);
  return cache;
}

/** Empties all of them. @returns whether there was something in one */
export function forgetCaches(): boolean {
  const full = [...known].flatMap((held) => held.deref() ?? []).filter(({ size }) => size > 0);
  for (const cache of full) cache.clear();
  return full.length > 0;
}
