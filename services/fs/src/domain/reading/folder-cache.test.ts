import { AppError } from '@wharf/errors';
import { describe, expect, it } from 'vitest';
import type { ListNamesOptions } from '../../driver-contract/storage-driver.ts';
import { locate } from '../snapshot/snapshot.ts';
import { countWork } from '../testing/count-work.ts';
import { bytesOf, mpath, openTree, vpath } from '../testing/memory-tree.ts';
import { refusalOf } from '../testing/refusal.ts';
import { createTestDriver } from '../testing/test-drivers.ts';

const MINUTE_MS = 60_000;

/** A storage whose listings are kept (it has no names under a version), with one file in /d. */
async function setUp(storage: Parameters<typeof openTree>[0]['storages'] = [{ driver: 'Cached', cache_expiration: 5 }]) {
  const driver = createTestDriver('Cached', ['listNames', 'statMany']);
  let now = 0;
  const memory = await openTree({ drivers: [driver.definition], storages: storage, clock: () => now });
  const store = driver.storeOf();
  await store.write(mpath('/d/a'), bytesOf('a'), { overwrite: true });
  const names = async (path: string, refresh = false) =>
    (await memory.folderCache.read(locate(memory.snapshot, vpath(path)), { refresh, signal: undefined })).names;
  return { ...memory, driver, store, names, advance: (ms: number) => (now += ms) };
}

describe('a listing', () => {
  it('is kept for as many minutes as its storage says, from when it began', async () => {
    const { names, driver, store, advance } = await setUp();
    await names('/d');
    await store.write(mpath('/d/b'), bytesOf('b'), { overwrite: true });
    advance(5 * MINUTE_MS - 1);
    expect(await names('/d')).toEqual(['a']);
    expect(driver.listings()).toBe(1);
    advance(1);
    expect(await names('/d')).toEqual(['a', 'b']);
  });

  it('is read anew after the clock was set back: nobody knows how old it is', async () => {
    const { names, store, advance } = await setUp();
    await names('/d');
    await store.write(mpath('/d/b'), bytesOf('b'), { overwrite: true });
    advance(-1);
    expect(await names('/d')).toEqual(['a', 'b']);
  });

  it('is kept for other times where the storage says so of its folder', async () => {
    const { names, driver, advance } = await setUp([{ driver: 'Cached', cache_expiration: 5, custom_cache_policies: '/d:0\n/e/**:60' }]);
    await driver.storeOf().write(mpath('/e/a'), bytesOf('a'), { overwrite: true });
    for (let time = 0; time < 2; time += 1) await names('/d');
    expect(driver.listings()).toBe(2);
    await names('/e');
    advance(59 * MINUTE_MS);
    await names('/e');
    expect(driver.listings()).toBe(3);
  });

  it('is not kept when its storage says 0, nor when its driver wants none kept', async () => {
    const zero = await setUp([{ driver: 'Cached', cache_expiration: 0 }]);
    await zero.names('/d');
    await zero.names('/d');
    expect(zero.driver.listings()).toBe(2);

    const driver = createTestDriver('NoCache', ['listNames'], { no_cache: true });
    const { snapshot, folderCache } = await openTree({ drivers: [driver.definition], storages: [{ driver: 'NoCache' }] });
    await driver.storeOf().makeDirectory(mpath('/d/x'));
    for (let time = 0; time < 2; time += 1) await folderCache.read(locate(snapshot, vpath('/d')), { refresh: false, signal: undefined });
    expect(driver.listings()).toBe(2);
  });

  it('of an empty folder is not kept', async () => {
    const { names, driver, store } = await setUp();
    await store.makeDirectory(mpath('/empty'));
    await names('/empty');
    await names('/empty');
    expect(driver.listings()).toBe(2);
  });

  it('is read past what is kept on refresh, and kept anew', async () => {
    const { names, driver, store } = await setUp();
    await names('/d');
    await store.write(mpath('/d/b'), bytesOf('b'), { overwrite: true });
    expect(await names('/d', true)).toEqual(['a', 'b']);
    expect(await names('/d')).toEqual(['a', 'b']);
    expect(driver.listings()).toBe(2);
  });

  it('that many ask for at once is read once', async () => {
    const { names, driver } = await setUp();
    const answers = await Promise.all([names('/d'), names('/d'), names('/d', true)]);
    expect(answers).toEqual([['a'], ['a'], ['a']]);
    expect(driver.listings()).toBe(1);
  });

  it('that failed fails for all who wait, and is tried again for the next', async () => {
    const { names, store } = await setUp();
    const failed = await Promise.allSettled([names('/new'), names('/new')]);
    expect(failed.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    await store.makeDirectory(mpath('/new/x'));
    expect(await names('/new')).toEqual(['x']);
  });

  it('that is refused to one who came in a circle is asked for by each who joined', async () => {
    const { names, driver } = await setUp();
    let asked = 0;
    driver.beforeCalls(async () => {
      asked += 1;
      if (asked === 1) throw new AppError('CIRCULAR_MOUNT', 'in a circle');
    });
    const [circular, ...joined] = await Promise.allSettled([names('/d'), names('/d'), names('/d')]);
    expect(circular).toMatchObject({ status: 'rejected', reason: { code: 'CIRCULAR_MOUNT' } });
    for (const each of joined) expect(each).toEqual({ status: 'fulfilled', value: ['a'] });
  });

  it.each([
    { refused: 1, expected: ['rejected', 'rejected', 'fulfilled', 'fulfilled', 'fulfilled', 'rejected'], listings: 2 },
    { refused: 9, expected: Array(6).fill('rejected'), listings: 3 },
  ])('that is refused to one who asks for too much is asked for once by others who joined: $listings', async (each) => {
    const { snapshot, folderCache, driver } = await setUp();
    let asked = 0;
    driver.beforeCalls(async () => {
      asked += 1;
      if (asked <= each.refused) throw new AppError('OVERLOADED', 'busy');
    });
    const read = (caller: string, signal?: AbortSignal) =>
      folderCache.read(locate(snapshot, vpath('/d')), { refresh: true, signal, caller });
    const outcomes = await Promise.allSettled([
      ...['one', 'one', 'other', 'other', 'third'].map((caller) => read(caller)),
      read('gone', AbortSignal.abort()),
    ]);
    expect(outcomes.map(({ status }) => status)).toEqual(each.expected);
    expect(asked).toBe(each.listings);
  });

  it('that takes long ends for each who goes, whether they began or joined it, and goes on for who stays', async () => {
    const { snapshot, folderCache, driver } = await setUp();
    const answers = Promise.withResolvers<void>();
    driver.beforeCalls(() => answers.promise);
    const gone = new AbortController();
    const read = (signal?: AbortSignal) => folderCache.read(locate(snapshot, vpath('/d')), { refresh: false, signal });
    const [began, joined, stays] = [read(gone.signal), read(gone.signal), read()];
    gone.abort();
    await expect(began).rejects.toMatchObject({ code: 'CANCELLED' });
    await expect(joined).rejects.toMatchObject({ code: 'CANCELLED' });
    answers.resolve();
    expect((await stays).names).toEqual(['a']);
    expect(driver.listings()).toBe(1);
  });

  it('goes on for nobody only where few do', async () => {
    const { snapshot, folderCache, driver } = await setUp();
    const asked: AbortSignal[] = [];
    driver.beforeCalls((_store, signal) => {
      if (signal) asked.push(signal);
      return new Promise(() => {});
    });
    const gone = new AbortController();
    const paths = Array.from({ length: 100 }, (_, index) => vpath(`/d${index}`));
    const reads = paths.map((path) => folderCache.read(locate(snapshot, path), { refresh: false, signal: gone.signal }));
    await expect.poll(() => asked.length).toBe(100);
    gone.abort();
    await Promise.allSettled(reads);
    expect(asked.filter((signal) => !signal.aborted)).toHaveLength(64);
  });

  it('is sorted anew when the storage wants another order', async () => {
    const driver = createTestDriver('Cached', ['listNames']);
    const open = (order_by: string, extract_folder = '') =>
      openTree({ drivers: [driver.definition], storages: [{ driver: 'Cached', order_by, extract_folder }] });
    for (const name of ['b10', 'b9']) await driver.storeOf().write(mpath(`/${name}`), bytesOf(name), { overwrite: true });
    await driver.storeOf().makeDirectory(mpath('/c'));
    const listed = async ({ snapshot, folderCache }: Awaited<ReturnType<typeof open>>) =>
      (await folderCache.read(locate(snapshot, vpath('/')), { refresh: false, signal: undefined })).names;
    expect(await listed(await open('name'))).toEqual(['b9', 'b10', 'c']);
    expect(await listed(await open('size', 'back'))).toEqual(['b9', 'b10', 'c']);
    expect(await listed(await open('', 'front'))).toEqual(['c', 'b10', 'b9']);
  });
});

describe('a change', () => {
  it('makes the folder it is in be read again, and what is below it, and nothing else', async () => {
    const { names, store, folderCache, driver } = await setUp();
    await store.write(mpath('/d/sub/x'), bytesOf('x'), { overwrite: true });
    await store.write(mpath('/e/y'), bytesOf('y'), { overwrite: true });
    for (const path of ['/', '/d', '/d/sub', '/e']) await names(path);
    folderCache.forget([vpath('/d/sub')]);
    const before = driver.listings();
    for (const path of ['/', '/e']) await names(path);
    expect(driver.listings()).toBe(before);
    for (const path of ['/d', '/d/sub']) await names(path);
    expect(driver.listings()).toBe(before + 2);
  });

  it('further down makes those folders be read again that did not show the way to it', async () => {
    const { names, store, folderCache } = await setUp();
    expect(await names('/')).toEqual(['d']);
    expect(await names('/d')).toEqual(['a']);
    await store.write(mpath('/d/new/deep/f'), bytesOf('f'), { overwrite: true });
    folderCache.forget([vpath('/d/new/deep/f')]);
    expect(await names('/d')).toEqual(['a', 'new']);
  });

  it('while a listing is read keeps that from being kept, and from being joined', async () => {
    const { names, store, folderCache, driver } = await setUp();
    const gate = Promise.withResolvers<void>();
    driver.holdListings(gate.promise);
    const early = names('/d');
    await expect.poll(() => driver.listings()).toBe(1);
    await store.write(mpath('/d/b'), bytesOf('b'), { overwrite: true });
    folderCache.forget([vpath('/d/b')]);
    const late = names('/d');
    gate.resolve();
    expect(await early).toEqual(['a']);
    expect(await late).toEqual(['a', 'b']);
    expect(await names('/d')).toEqual(['a', 'b']);
    expect(driver.listings()).toBe(2);
  });

  it('elsewhere lets a listing that is being read be kept', async () => {
    const { names, folderCache, driver } = await setUp();
    const gate = Promise.withResolvers<void>();
    driver.holdListings(gate.promise);
    const early = names('/d');
    await expect.poll(() => driver.listings()).toBe(1);
    folderCache.forget([vpath('/e/b')]);
    gate.resolve();
    await early;
    await names('/d');
    expect(driver.listings()).toBe(1);
  });
});

it('what is kept belongs to one opening of a storage', async () => {
  const driver = createTestDriver('Cached', ['listNames', 'statMany']);
  const { folderCache, snapshot } = await openTree({ drivers: [driver.definition], storages: [{ driver: 'Cached' }] });
  const other = await openTree({ drivers: [driver.definition], storages: [{ driver: 'Cached', addition: '{"store":"b"}' }] });
  await driver.storeOf().makeDirectory(mpath('/a'));
  await driver.storeOf('b').makeDirectory(mpath('/b'));
  const listed = async (from: typeof snapshot) =>
    (await folderCache.read(locate(from, vpath('/')), { refresh: false, signal: undefined })).names;
  expect(await listed(snapshot)).toEqual(['a']);
  expect(await listed(other.snapshot)).toEqual(['b']);
});

describe('names under their version', () => {
  it('are used until the folder changes, and entries are always as they are now', async () => {
    const memory = await openTree({ storages: [{ order_by: 'name', order_direction: 'desc' }] });
    await memory.put('/d/a1', 'x');
    await memory.put('/d/a10');
    await memory.put('/d/a9');
    const read = () => memory.folderCache.read(locate(memory.snapshot, vpath('/d')), { refresh: false, signal: undefined });
    const first = await read();
    expect(first.names).toEqual(['a10', 'a9', 'a1']);
    expect(await read()).toBe(first);
    await memory.put('/d/a2');
    const second = await read();
    expect(second.names).toEqual(['a10', 'a9', 'a2', 'a1']);
    const entries = await second.entries(second.names.slice(1, 3), undefined);
    expect(entries.map(({ name }) => name)).toEqual(['a9', 'a2']);
  });
});

it('a change costs what it touches, not what is kept', async () => {
  const work = async (count: number) => {
    const { names, folderCache, store, driver } = await setUp();
    for (let index = 0; index < count; index += 1) await store.write(mpath(`/e${index}/f`), bytesOf('x'), { overwrite: true });
    for (let index = 0; index < count; index += 1) await names(`/e${index}`);
    await names('/d');
    const counted = countWork(() => folderCache.forget([vpath('/d/b')]));
    const before = driver.listings();
    await names('/d');
    expect(driver.listings()).toBe(before + 1);
    return counted;
  };
  const once = await work(50);
  expect(once).toBeGreaterThan(0);
  expect([await work(100), await work(200)]).toEqual([once, once]);
});

it('a change of a path of many segments reads it once', async () => {
  const { names, folderCache } = await setUp();
  await names('/d');
  const work = (segments: number) => countWork(() => folderCache.forget([vpath(`/d${'/s'.repeat(segments)}`)]));
  const [once, fourTimes] = [work(400), work(1600)];
  expect(fourTimes).toBeLessThan(4.4 * once);
});

it.each(['name', 'modified'])(
  'long folders are read some at a time, of which one caller has half, where they are ordered by %s',
  async (order_by) => {
    const driver = createTestDriver('Named');
    const store = driver.storeOf();
    const memory = await openTree({ drivers: [driver.definition], storages: [{ driver: 'Named', order_by }] });
    for (let number = 0; number < 6; number += 1) await store.write(mpath(`/${number}/a`), bytesOf('a'), { overwrite: true });
    const listNames = store.listNames.bind(store);
    const list = store.list.bind(store);
    const gate = Promise.withResolvers<void>();
    const begun: string[] = [];
    store.listNames = async (path, version, options: ListNamesOptions = {}) => {
      if (options.onlyShort) return { version: undefined, names: [], directories: new Set(), longLetters: 1 };
      begun.push(path);
      await gate.promise;
      return listNames(path, version, options);
    };
    store.list = async function* (path, options = {}) {
      options.beforeNames?.(1);
      begun.push(path);
      await gate.promise;
      yield* list(path, options);
    };
    const read = (folder: string, caller: string) =>
      memory.folderCache.read(locate(memory.snapshot, vpath(folder)), { refresh: false, signal: undefined, caller });
    const callers = ['one', 'one', 'one', 'other', 'other', 'third'];
    const reads = callers.slice(0, 5).map((caller, number) => read(`/${number}`, caller));
    await expect.poll(() => begun.map((path) => callers[Number(path.slice(1))]).toSorted()).toEqual(['one', 'one', 'other', 'other']);
    reads.push(read('/5', 'third'));
    gate.resolve();
    for (const { names } of await Promise.all(reads)) expect(names).toEqual(['a']);
    expect(begun).toHaveLength(6);
  },
);

it.each(['name', 'modified'])(
  'who lists a long folder asks for room before its names are read, where they are ordered by %s',
  async (order_by) => {
    const driver = createTestDriver('Named');
    const store = driver.storeOf();
    const memory = await openTree({ drivers: [driver.definition], storages: [{ driver: 'Named', order_by }] });
    await store.write(mpath('/d/a'), bytesOf('a'), { overwrite: true });
    const [listNames, list] = [store.listNames.bind(store), store.list.bind(store)];
    let hasRead = false;
    store.listNames = async (path, version, options: ListNamesOptions = {}) => {
      if (options.onlyShort) return { version: undefined, names: [], directories: new Set(), longLetters: 7 };
      hasRead = true;
      return listNames(path, version, options);
    };
    store.list = async function* (path, options = {}) {
      options.beforeNames?.(14);
      hasRead = true;
      yield* list(path, options);
    };
    const read = (beforeNames: (letters: number) => void) =>
      memory.folderCache.read(locate(memory.snapshot, vpath('/d')), { refresh: false, signal: undefined, beforeNames });
    const letters: number[] = [];
    const refuse = (asked: number) => {
      letters.push(asked);
      throw new AppError('OVERLOADED', 'full');
    };
    expect((await refusalOf(read(refuse)))[0]).toBe('OVERLOADED');
    expect([hasRead, letters]).toEqual([false, [7]]);
    expect((await read(() => undefined)).names).toEqual(['a']);
  },
);

it('a long folder that is listed for nobody any more is listed to its end before one of another storage', async () => {
  const gate = Promise.withResolvers<void>();
  const told: string[] = [];
  const drivers = ['One', 'Other'].map((name) => {
    const driver = createTestDriver(name);
    const store = driver.storeOf();
    const list = store.list.bind(store);
    store.list = async function* (path, options = {}) {
      options.beforeNames?.(Number.MAX_SAFE_INTEGER);
      told.push(`${name} begins`);
      if (name === 'One') await gate.promise;
      yield* list(path, options);
      told.push(`${name} ends`);
    };
    return { ...driver, store };
  });
  const storages = drivers.map(({ definition }) => ({ driver: definition.name, mount_path: `/${definition.name}`, order_by: 'modified' }));
  const memory = await openTree({ drivers: drivers.map(({ definition }) => definition), storages });
  for (const { store } of drivers) await store.write(mpath('/d/a'), bytesOf('a'), { overwrite: true });
  const leaver = new AbortController();
  const read = (name: string, signal?: AbortSignal) =>
    memory.folderCache.read(locate(memory.snapshot, vpath(`/${name}/d`)), { refresh: false, signal, caller: name });
  const left = refusalOf(read('One', leaver.signal));
  await expect.poll(() => told).toEqual(['One begins']);
  leaver.abort();
  expect((await left)[0]).toBe('CANCELLED');
  const other = read('Other');
  for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  gate.resolve();
  expect((await other).names).toEqual(['a']);
  expect(told).toEqual(['One begins', 'One ends', 'Other begins', 'Other ends']);
});
