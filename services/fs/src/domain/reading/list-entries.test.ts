import { sliceOf } from '@wharf/pace';
import fc from 'fast-check';
import { RE2JS } from 're2js';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Actor } from '../access/permissions.ts';
import { longFolder } from '../testing/long-folder.ts';
import { actor, bytesOf, type MemoryTree, mpath, openTree, vpath } from '../testing/memory-tree.ts';
import { refusalOf } from '../testing/refusal.ts';
import { createTestDriver } from '../testing/test-drivers.ts';
import { listEntries } from './list-entries.ts';

const list = (memory: MemoryTree, path: string, options: { page?: number; perPage?: number; who?: Actor; onlyFolders?: boolean } = {}) =>
  listEntries(memory.snapshot, memory.folderCache, options.who ?? actor(), vpath(path), {
    slice: sliceOf(options.page ?? 1, options.perPage ?? 0),
    refresh: false,
    onlyFolders: options.onlyFolders ?? false,
  });
const namesIn = async (...given: Parameters<typeof list>) => (await list(...given)).entries.map(({ name }) => name);

describe('folders that mounts make', () => {
  it('come after the entries of the storage, each name once, the storage’s own first', async () => {
    const memory = await openTree({
      storages: [{ order_by: 'name' }, { mount_path: '/m/n', order: 1 }, { mount_path: '/a', order: 2 }, { mount_path: '/file', order: 3 }],
    });
    await memory.put('/z');
    const root = memory.snapshot.table.locate(vpath('/'));
    const driver = await root?.mount.driver();
    await driver?.write?.(vpath('/file') as string as never, (async function* () {})(), { overwrite: true });
    const { entries, total } = await list(memory, '/');
    expect(entries.map(({ name, isDirectory }) => [name, isDirectory])).toEqual([
      ['file', false],
      ['z', false],
      ['m', true],
      ['a', true],
    ]);
    expect(total).toBe(4);
    // Of folders alone the storage has none of that name.
    expect(await namesIn(memory, '/', { onlyFolders: true })).toEqual(['m', 'a', 'file']);
  });

  it('are there when no storage covers the folder, has it, or works', async () => {
    const broken = createTestDriver('Broken');
    broken.onOpen(async () => {
      throw new Error('no');
    });
    const memory = await openTree({
      drivers: [broken.definition],
      storages: [
        { mount_path: '/a/b' },
        { mount_path: '/x', driver: 'Broken' },
        { mount_path: '/x/y' },
        { mount_path: '/s' },
        { mount_path: '/s/t/u' },
      ],
    });
    expect(await list(memory, '/')).toMatchObject({ total: 3, located: undefined });
    expect(await namesIn(memory, '/x')).toEqual(['y']);
    expect(await namesIn(memory, '/s/t')).toEqual(['u']);
  });

  it('are told apart from hundreds of thousands of names with room for others in between', async () => {
    const memory = await openTree({ storages: [{}, { mount_path: '/d/m' }] });
    const gone = new AbortController();
    setImmediate(() => gone.abort());
    const slice = sliceOf(1, 1);
    const folderCache = { ...memory.folderCache, read: async () => longFolder(100_000) };
    const listing = listEntries(memory.snapshot, folderCache, actor(), vpath('/d'), { slice, refresh: false, signal: gone.signal });
    expect((await refusalOf(listing))[0]).toBe('CANCELLED');
  });

  it('that are all hidden leave an empty folder, not an error', async () => {
    const memory = await openTree({ storages: [{ mount_path: '/secret' }], rules: [{ path: '/', hide: 'secret' }] });
    expect(await list(memory, '/', { who: actor({ permission: 0 }) })).toMatchObject({ entries: [], total: 0 });
  });
});

it('fails in the words of the family', async () => {
  const memory = await openTree({});
  await memory.put('/f');
  expect(await refusalOf(list(memory, '/none'))).toEqual(['ENTRY_NOT_FOUND', 'failed get objs: failed get dir: object not found']);
  expect(await refusalOf(list(memory, '/f'))).toEqual(['NOT_A_DIRECTORY', 'failed get objs: not a folder']);
  expect(await refusalOf(list(await openTree({ storages: [] }), '/'))).toEqual([
    'MOUNT_NOT_FOUND',
    'failed get storage: storage not found; please add a storage first',
  ]);
});

it('a page behind the last is empty and has the total', async () => {
  const memory = await openTree({});
  for (const name of ['a', 'b', 'c']) await memory.put(`/${name}`);
  expect(await list(memory, '/', { page: 9, perPage: 2 })).toMatchObject({ entries: [], total: 3 });
  expect(await list(memory, '/', { page: Number.MAX_SAFE_INTEGER, perPage: Number.MAX_SAFE_INTEGER })).toMatchObject({
    entries: [],
    total: 3,
  });
});

it('a page of names that are kept costs one call, and shows what changed meanwhile all the same', async () => {
  const driver = createTestDriver('Names');
  const memory = await openTree({ drivers: [driver.definition], storages: [{ driver: 'Names', order_by: 'name' }] });
  const store = driver.storeOf();
  for (const name of ['a', 'b', 'c']) await store.write(mpath(`/d/${name}`), bytesOf(name), { overwrite: true });
  await namesIn(memory, '/d');
  expect(await namesIn(memory, '/d', { page: 2, perPage: 2 })).toEqual(['c']);
  expect(driver.namings()).toBe(1);

  await store.write(mpath('/d/d'), bytesOf('d'), { overwrite: true });
  expect(await namesIn(memory, '/d', { page: 2, perPage: 2 })).toEqual(['c', 'd']);
  await store.remove(mpath('/d/d'), { recursive: false });
  // A page with nothing on it is looked at too.
  expect((await list(memory, '/d', { page: 9, perPage: 2 })).total).toBe(3);
  await store.remove(mpath('/d'), { recursive: true });
  expect(await refusalOf(list(memory, '/d'))).toEqual(['ENTRY_NOT_FOUND', 'failed get objs: failed get dir: object not found']);
});

it('all of a folder that is kept stands for the same until something in it changes, and is not looked at for whoever has it', async () => {
  const driver = createTestDriver('Cached', ['listNames', 'statMany']);
  const storages = [{ driver: 'Cached' }, { mount_path: '/m/n', driver: 'Cached', order: 1 }];
  const memory = await openTree({ drivers: [driver.definition], storages });
  const store = driver.storeOf();
  for (const name of ['d/a', 'd/b', 'm/a']) await store.write(mpath(`/${name}`), bytesOf(name), { overwrite: true });
  const asked: object[] = [];
  const pageOf = (path: string, owned?: object, slice = sliceOf(1, 0)) =>
    listEntries(memory.snapshot, memory.folderCache, actor(), vpath(path), {
      ...{ slice, refresh: false },
      has(whole) {
        asked.push(whole);
        return whole === owned;
      },
    });
  const first = await pageOf('/d');
  const again = await pageOf('/d', first.whole);
  expect(again).toMatchObject({ entries: [], total: 2, whole: first.whole });
  expect(asked).toEqual([first.whole, first.whole]);
  expect((await pageOf('/d')).entries).toHaveLength(2);
  memory.folderCache.forget([vpath('/d/a')]);
  expect((await pageOf('/d', first.whole)).entries).toHaveLength(2);
  // A part of it, or it with what is mounted in it, is not all of a folder.
  for (const part of [await pageOf('/d', undefined, sliceOf(1, 1)), await pageOf('/m')]) expect(part.whole).toBeUndefined();
});

it('every page is the slice of what a naive listing shows', async () => {
  const name = fc.stringMatching(/^[a-c.][0-9]{0,2}$/).filter((text) => text !== '.');
  const world = fc.record({
    files: fc.uniqueArray(name, { maxLength: 12 }),
    folders: fc.uniqueArray(name, { maxLength: 6 }),
    mounts: fc.uniqueArray(name, { maxLength: 5 }),
    hide: fc.constantFrom('', '^a', '^\\.', 'b|c'),
    readers: fc.option(name, { nil: undefined }),
    order: fc.constantFrom('', 'name', 'size'),
    onlyFolders: fc.boolean(),
    kept: fc.boolean(),
    perPage: fc.integer({ min: 0, max: 7 }),
  });
  await fc.assert(
    fc.asyncProperty(world, async ({ files, folders, mounts, hide, readers, order, onlyFolders, kept, perPage }) => {
      const cached = createTestDriver('Cached', ['listNames', 'statMany']);
      const memory = await openTree({
        drivers: [cached.definition],
        storages: [
          { driver: kept ? 'Cached' : 'Memory', order_by: order },
          ...mounts.map((mount, index) => ({ mount_path: `/${mount}/x`, order: index + 1 })),
        ],
        rules: [{ path: '/', hide }, ...(readers === undefined ? [] : [{ path: `/${readers}`, read_users: [99] }])],
      });
      const driver = await memory.snapshot.table.locate(vpath('/'))?.mount.driver();
      const at = (text: string) => vpath(`/${text}`) as string as never;
      for (const folder of folders) await driver?.makeDirectory?.(at(folder));
      for (const file of files)
        if (!folders.includes(file)) await driver?.write?.(at(file), (async function* () {})(), { overwrite: true });

      const who = actor({ permission: 0 });
      const isSeen = (each: string, isFolder: boolean) => {
        const isHidden = hide !== '' && new RegExp(hide).test(each);
        return !isHidden && !(isFolder && each === readers);
      };
      const own = (await list(memory, '/', { who: actor({ role: 2 }) })).entries.filter(
        ({ name: each }) => !mounts.includes(each) || folders.includes(each) || files.includes(each),
      );
      const shown = own
        .filter((entry) => isSeen(entry.name, entry.isDirectory) && (entry.isDirectory || !onlyFolders))
        .map((entry) => entry.name as string);
      const all = [...shown, ...mounts.filter((mount) => !shown.includes(mount) && isSeen(mount, true))];

      const pages: string[] = [];
      const count = perPage === 0 ? 1 : Math.ceil(all.length / perPage) + 1;
      for (let page = 1; page <= count; page += 1) {
        const { entries, total } = await list(memory, '/', { who, page, perPage, onlyFolders });
        expect(total).toBe(all.length);
        expect(entries.length).toBe(perPage === 0 ? all.length : Math.max(0, Math.min(perPage, all.length - (page - 1) * perPage)));
        pages.push(...entries.map((entry) => entry.name));
      }
      expect(pages).toEqual(all);
    }),
    { numRuns: 150 },
  );
}, 30_000);

it('names of a long folder are held against a pattern once, however many pages are asked for', async () => {
  const memory = await openTree({ rules: [{ path: '/d', hide: '7$' }] });
  const folder = longFolder(140_000, '');
  let asked = 0;
  const { matcher } = RE2JS.prototype;
  RE2JS.prototype.matcher = function (this: RE2JS, name) {
    asked += 1;
    return matcher.call(this, name);
  };
  onTestFinished(() => {
    RE2JS.prototype.matcher = matcher;
  });
  const page = async (number: number) => {
    const options = { slice: sliceOf(number, 2), refresh: false };
    const folderCache = { ...memory.folderCache, read: async () => folder };
    const { entries, total } = await listEntries(memory.snapshot, folderCache, actor({ permission: 0 }), vpath('/d'), options);
    return { total, last: entries.at(-1)?.name };
  };
  expect(await page(1)).toEqual({ total: 126_000, last: folder.names[1] });
  expect(asked).toBe(140_000);
  expect(await page(63_000)).toEqual({ total: 126_000, last: folder.names[139_999] });
  expect(asked).toBe(140_000);
});
