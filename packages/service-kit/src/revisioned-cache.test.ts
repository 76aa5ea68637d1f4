import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { createRevisionedCache } from './revisioned-cache.ts';

/** A cache over a value that the test changes, with a clock that the test turns. */
function setUp() {
  const source = { revision: 1, value: 'one', loads: 0, now: 0 };
  const cache = createRevisionedCache({
    clock: () => source.now,
    readRevision: async () => source.revision,
    make: (value) => value,
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

  it('a change is seen where the clock was set back since', async () => {
    const { source, cache, change } = setUp();
    source.now = 3_600_000;
    await cache.get();
    change('two');
    source.now = 0;
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

  it('a change that was never counted is seen after a minute', async () => {
    const { source, cache } = setUp();
    await cache.get();
    source.value = 'two';
    source.now = 30_000;
    expect(await cache.get()).toBe('one');
    source.now = 60_000;
    expect([await cache.get(), source.loads]).toEqual(['two', 2]);
  });

  it('data is read again where its counter goes back, as that of a store put back from a backup', async () => {
    const { source, cache, change } = setUp();
    change('two');
    expect(await cache.get()).toBe('two');
    Object.assign(source, { revision: 1, value: 'one', now: 5_000 });
    expect([await cache.get(), source.loads]).toEqual(['one', 2]);
  });

  it('the same data is the same value, however often it is loaded', async () => {
    let now = 0;
    const load = async () => ({ names: ['a', 'b'] });
    const cache = createRevisionedCache({ clock: () => now, readRevision: async () => now, load, make: (data) => ({ data }) });
    const first = await cache.get();
    now = 60_000;
    expect(await cache.get()).toBe(first);
  });

  it('others have their turns while much data is compared with what was there', async () => {
    let now = 0;
    // Each look at the clock of the thread takes a millisecond, on whatever machine.
    let threadMs = 0;
    const clock = vi.spyOn(performance, 'now').mockImplementation(() => (threadMs += 1));
    onTestFinished(() => clock.mockRestore());
    const numbers = () => Array.from({ length: 10 }, (_, index) => index);
    const rules = () => Array.from({ length: 1_000 }, (_, id) => ({ id, read: numbers(), write: numbers() }));
    const other = rules().with(-1, { id: 999, read: [], write: numbers() });
    const loads = [rules(), rules(), other].map((each) => [{ name: 'all' }, each]);
    const cache = createRevisionedCache({
      clock: () => now,
      readRevision: async () => now,
      load: async () => loads.shift() ?? [],
      make: (data) => ({ data }),
    });
    const first = await cache.get();
    const watched = { turns: 0, isOver: false };
    const watch = () => {
      watched.turns += 1;
      if (!watched.isOver) setImmediate(watch);
    };
    setImmediate(watch);
    now = 60_000;
    expect(await cache.get()).toBe(first);
    watched.isOver = true;
    expect(watched.turns).toBeGreaterThan(50);
    now = 120_000;
    expect(await cache.get()).not.toBe(first);
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
      make: (value) => value,
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

describe('while the store does not answer', () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  /** A cache that has seen 'one' at revision 1, over a store that is away from then on. */
  async function setUpOutage(away: () => Promise<never>) {
    const { source, ...rest } = setUp();
    let isAway = false;
    const cache = createRevisionedCache({
      clock: () => source.now,
      readRevision: async () => (isAway ? away() : source.revision),
      load: async () => source.value,
      make: (value) => value,
    });
    await cache.get();
    isAway = true;
    source.now = 30_000;
    const comeBack = () => {
      isAway = false;
    };
    return { ...rest, source, cache, comeBack };
  }
  const lost = () => Promise.reject(Object.assign(new Error('connection closed'), { name: 'MongoNetworkError' }));
  const hangs = () => new Promise<never>(() => {});
  const UNAVAILABLE = { code: 'STORAGE_UNAVAILABLE', message: 'the store does not answer, try again in a moment' };

  it('reads get what was true up to a minute ago, and nobody else does', async () => {
    const { source, cache } = await setUpOutage(lost);
    expect(await cache.getKept()).toBe('one');
    await expect(cache.get()).rejects.toMatchObject(UNAVAILABLE);
    source.now = 60_000;
    await expect(cache.getKept()).rejects.toMatchObject(UNAVAILABLE);
  });

  it('a store that hangs is waited for once, and not for long', async () => {
    const { cache } = await setUpOutage(hangs);
    const first = cache.getKept();
    await vi.advanceTimersByTimeAsync(2_000);
    expect([await first, await cache.getKept()]).toEqual(['one', 'one']);
    const strict = expect(cache.get()).rejects.toMatchObject(UNAVAILABLE);
    await vi.advanceTimersByTimeAsync(30_000);
    await strict;
  });

  it('nothing is answered that something newer was told of', async () => {
    const { cache } = await setUpOutage(lost);
    await expect(cache.getKept(2)).rejects.toMatchObject(UNAVAILABLE);
    cache.invalidate();
    await expect(cache.getKept()).rejects.toMatchObject(UNAVAILABLE);
  });

  it('what is new is seen when it is back', async () => {
    const { cache, comeBack, change } = await setUpOutage(lost);
    await cache.getKept();
    change('two');
    comeBack();
    expect(await cache.get()).toBe('two');
    expect(await cache.getKept()).toBe('two');
  });

  it('an answer that comes when newer data was read makes nothing', async () => {
    const { promise: late, resolve: answer } = Promise.withResolvers<string>();
    const loads: (() => Promise<string>)[] = [() => late, async () => 'two'];
    const made: string[] = [];
    let revision = 1;
    const cache = createRevisionedCache({
      clock: () => 0,
      readRevision: async () => revision,
      load: async () => (loads.shift() ?? expect.fail('loaded again'))(),
      make: (value) => {
        made.push(value);
        return value;
      },
    });
    const strict = expect(cache.get()).rejects.toMatchObject(UNAVAILABLE);
    await vi.advanceTimersByTimeAsync(30_000);
    await strict;
    revision = 2;
    expect(await cache.get()).toBe('two');
    answer('one');
    await vi.advanceTimersByTimeAsync(1);
    expect([made, await cache.get()]).toEqual([['two'], 'two']);
  });

  it('what is made of an old answer has no effect behind what is made of a newer one', async () => {
    const { promise: slow, resolve: goOn } = Promise.withResolvers<void>();
    const source = { revision: 1, value: 'one' };
    let lastMade = '';
    const cache = createRevisionedCache({
      clock: () => 0,
      readRevision: async () => source.revision,
      load: async () => source.value,
      make: async (value) => {
        if (value === 'one') await slow;
        lastMade = value;
        return value;
      },
    });
    const strict = expect(cache.get()).rejects.toMatchObject(UNAVAILABLE);
    await vi.advanceTimersByTimeAsync(30_000);
    await strict;
    Object.assign(source, { revision: 2, value: 'two' });
    const newer = cache.get();
    await vi.advanceTimersByTimeAsync(1);
    goOn();
    expect(await newer).toBe('two');
    await vi.advanceTimersByTimeAsync(1);
    expect([lastMade, await cache.get(2)]).toEqual(['two', 'two']);
  });
});
