import { describe, expect, it } from 'vitest';
import { createRevisionedCache } from './revisioned-cache.ts';

/** A cache over a value that the test changes, with a clock that the test turns. */
function setUp() {
  const source = { revision: 1, value: 'one', loads: 0, now: 0 };
  const cache = createRevisionedCache({
    clock: () => source.now,
    readRevision: async () => source.revision,
    load: async () => {
      source.loads += 1;
      return source.value;
    },
  });
  const change = (value: string) => {
    source.value = value;
    source.revision += 1;
  };
  return { source, cache, change };
}

describe('revisioned cache', () => {
  it('loads once and answers from memory', async () => {
    const { source, cache } = setUp();
    expect([await cache.get(), await cache.get(), source.loads]).toEqual(['one', 'one', 1]);
  });

  it('a caller who knows of a newer revision sees it at once', async () => {
    const { source, cache, change } = setUp();
    await cache.get();
    change('two');
    expect([await cache.get(), await cache.get(source.revision)]).toEqual(['one', 'two']);
  });

  it('a change is seen after five seconds without any event', async () => {
    const { source, cache, change } = setUp();
    await cache.get();
    change('two');
    source.now = 5_000;
    expect(await cache.get()).toBe('two');
  });

  it('an invalidation makes the next call look', async () => {
    const { cache, change } = setUp();
    await cache.get();
    change('two');
    cache.invalidate();
    expect(await cache.get()).toBe('two');
  });

  it('what did not change is not loaded again', async () => {
    const { source, cache } = setUp();
    await cache.get();
    cache.invalidate();
    await cache.get();
    expect(source.loads).toBe(1);
  });

  it('calls at the same time share one load', async () => {
    const { source, cache } = setUp();
    await Promise.all(Array.from({ length: 20 }, () => cache.get()));
    expect(source.loads).toBe(1);
  });

  it('a load that began before the wanted revision is not enough', async () => {
    const { source, cache, change } = setUp();
    const early = cache.get();
    change('two');
    expect(await cache.get(source.revision)).toBe('two');
    await early;
  });

  it('a load that failed is tried again by the next call', async () => {
    let isDown = true;
    const cache = createRevisionedCache({
      clock: () => 0,
      readRevision: async () => 1,
      load: async () => {
        if (isDown) throw new Error('down');
        return 'up';
      },
    });
    await expect(cache.get()).rejects.toThrow('down');
    isDown = false;
    expect(await cache.get()).toBe('up');
  });
});
