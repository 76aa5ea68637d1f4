import { startEmbeddedMongo } from '@wharf/embedded-mongo';
import { makeTempDir } from '@wharf/harness';
import { modelsOf } from '@wharf/models';
import { connectStore } from '@wharf/service-kit';
import { describe, expect, it, vi } from 'vitest';
import { createStoreSearchIndex } from '../../src/search-engines/store/store-search-index.ts';
import { openStoreIndex } from './open-store-index.ts';
import { file, folder, path } from './plain-scan.ts';
import { describeSearchIndex } from './search-index.suite.ts';

async function openStore() {
  const dir = await makeTempDir('search');
  const store = await startEmbeddedMongo({ dataDir: `${dir.path}/store` });
  const close = async () => {
    await store.stop();
    await dir.remove();
  };
  return { url: store.url, close };
}

/** An index in a store of its own, and the way to its tables. */
async function openIndex(isBuiltIn = false) {
  const { url, close } = await openStore();
  const connection = await connectStore(url);
  const models = modelsOf(connection);
  const end = async () => {
    await connection.close();
    await close();
  };
  return { models, index: await createStoreSearchIndex(models, isBuiltIn), end };
}

describeSearchIndex('in the embedded store', async () => {
  const { url, close } = await openStore();
  return openStoreIndex(url, close);
});

it('an emptied index fills without the index over grams, also after a restart, and has it from when it is made fast', async () => {
  const { models, index, end } = await openIndex();
  const indexes = async () => (await models.indexEntries.collection.indexes()).map(({ name }) => name);
  for (const round of [1, 2]) {
    await index.clear();
    await index.openFolder(path('/'), -1, 1);
    await index.put(path('/'), [file(`entry ${round}`)], 1);
    await createStoreSearchIndex(models);
    expect(await indexes()).toEqual(['_id_']);
    await index.makeFast();
    expect(await indexes()).toEqual(['_id_', 'grams_1']);
  }
  await end();
});

it('the built-in store has the index over grams before there is anything: it would answer nobody while it made one of many', async () => {
  const { models, index, end } = await openIndex(true);
  const made = vi.spyOn(models.indexEntries, 'createIndexes');
  for (const _ of [1, 2]) {
    await index.openFolder(path('/'), -1, 1);
    await index.put(path('/'), [file('entry')], 1);
    expect((await models.indexEntries.collection.indexes()).map(({ name }) => name)).toEqual(['_id_', 'grams_1']);
    expect(made).toHaveBeenCalledTimes(0);
    await index.clear();
    expect(made).toHaveBeenCalledTimes(1);
    made.mockClear();
  }
  await end();
});

it('of long names fewer come and go in one command', async () => {
  const { models, index, end } = await openIndex();
  const entries = models.indexEntries;
  const [inserts, deletes] = [vi.spyOn(entries.collection, 'insertMany'), vi.spyOn(entries.collection, 'deleteMany')];
  const long = Array.from({ length: 600 }, (_, number) => file(`${number}`.padStart(200, 'a name that is long ')));
  const most = async () => {
    const done = await Promise.all([...inserts.mock.results, ...deletes.mock.results].map(({ value }) => value as Promise<Changed>));
    for (const spy of [inserts, deletes]) spy.mockClear();
    return Math.max(...done.map(({ insertedCount = 0, deletedCount = 0 }) => insertedCount + deletedCount));
  };
  await index.openFolder(path('/'), -1, 1);
  await index.put(path('/'), [folder('a')], 1);
  for (const directory of ['/', '/a']) await index.put(path(directory), long, 1);
  expect(await entries.countDocuments()).toBe(1_201);
  expect(await most()).toBeLessThan(50);
  await index.remove(
    path('/'),
    [...long, folder('a')].map(({ name }) => name),
  );
  expect(await entries.countDocuments()).toBe(0);
  expect(await most()).toBeLessThan(50);
  await end();
});

it('what concerns many folders goes in many commands, between which the store answers others', async () => {
  const { models, index, end } = await openIndex();
  const folders = models.indexFolders.collection;
  const [updates, deletes] = [vi.spyOn(folders, 'updateMany'), vi.spyOn(folders, 'deleteMany')];
  /** The most folders that one of the commands changed. */
  const most = async (run: () => Promise<unknown>) => {
    await run();
    const done = await Promise.all([...updates.mock.results, ...deletes.mock.results].map(({ value }) => value as Promise<Changed>));
    for (const spy of [updates, deletes]) spy.mockClear();
    return Math.max(...done.map(({ modifiedCount = 0, deletedCount = 0 }) => modifiedCount + deletedCount));
  };
  const queued = () => models.indexFolders.countDocuments({ queued: { $ne: null } });
  const many = Array.from({ length: 1_200 }, (_, number) => ({ _id: `${number}`, path: `/a/${number}`, depth: 5, queued: 1 }));
  await models.indexFolders.insertMany([
    ...many,
    { _id: 'a', path: '/a', depth: 6, queued: 1 },
    { _id: 'b', path: '/a-b', depth: 6, queued: 1 },
  ]);
  expect(await most(() => index.requeue(path('/a'), 2, true))).toBeLessThanOrEqual(500);
  expect(await models.indexFolders.countDocuments({ queued: 2 })).toBe(1_201);
  expect(await most(() => index.settleAll({ place: path('/a'), without: [path('/a/1')] }))).toBeLessThanOrEqual(500);
  expect(await queued()).toBe(2);
  const entries = models.indexEntries.collection;
  const [entryDeletes, entryWrites] = [vi.spyOn(entries, 'deleteMany'), vi.spyOn(entries, 'bulkWrite')];
  await index.put(
    path('/a/1'),
    Array.from({ length: 1_200 }, (_, number) => file(`${number}`)),
    2,
  );
  await index.put(path('/a/2'), [file('one')], 2);
  await index.remove(path('/a'), ['1', '2'] as never);
  const done = await Promise.all([...entryDeletes.mock.results, ...entryWrites.mock.results].map(({ value }) => value as Promise<Changed>));
  expect(Math.max(...done.map(({ deletedCount = 0 }) => deletedCount))).toBe(500);
  expect(await models.indexEntries.countDocuments()).toBe(0);
  expect(await models.indexFolders.countDocuments()).toBe(1_200);
  expect(await most(() => index.clear())).toBeLessThanOrEqual(500);
  expect(await models.indexFolders.countDocuments()).toBe(0);
  await end();
});

it('a change that the store ends half way leaves what is found again, and no folder at its new place without what it holds', async () => {
  const { models, index, end } = await openIndex();
  await index.openFolder(path('/'), 9, 1);
  await index.put(path('/'), [folder('a'), folder('b')], 1);
  await index.put(path('/a'), [folder('top')], 1);
  const inside = Array.from({ length: 400 }, (_, number) => ['', '/x', '/y'].map((each) => `/a/top/${number}${each}`)).flat();
  await models.indexFolders.insertMany(inside.map((each, number) => ({ _id: `${number}`, path: each, depth: 5, queued: null })));

  const real = models.indexFolders.bulkWrite.bind(models.indexFolders) as () => Promise<never>;
  const write = vi.spyOn(models.indexFolders, 'bulkWrite').mockImplementationOnce(real).mockRejectedValueOnce(new Error('away'));
  await expect(index.move(path('/a/top'), path('/b/new'))).rejects.toMatchObject({ code: 'STORAGE_UNAVAILABLE' });
  write.mockRestore();
  const there = (await models.indexFolders.find({ path: /^\/b\/new\// }).lean()).map((each) => each.path);
  expect(there).toHaveLength(500);
  expect(there.filter((each) => /\d$/.test(each) && !(there.includes(`${each}/x`) && there.includes(`${each}/y`)))).toEqual([]);

  // By the entry alone the new place would be taken for known, and never be listed.
  expect([...(await index.children(path('/b'))).keys()]).toEqual([]);

  // Tried again it would take along what is left at the old place alone, and nobody would list the others.
  expect(await index.move(path('/a/top'), path('/b/new'))).toBe(false);
  expect(await models.indexFolders.countDocuments({ path: /^\/(a\/top|b\/new)/ })).toBe(0);
  expect([...(await index.children(path('/a'))).keys()]).toEqual(['top']);

  const removal = vi.spyOn(models.indexFolders, 'deleteMany').mockRejectedValueOnce(new Error('away'));
  await expect(index.remove(path('/'), [folder('a').name])).rejects.toMatchObject({ code: 'STORAGE_UNAVAILABLE' });
  removal.mockRestore();
  expect([...(await index.children(path('/'))).keys()]).toEqual(['a', 'b']);
  await end();
});

describe('while a folder is moved by another replica', () => {
  /** An index with `/from/inner`, and what runs once before folders are next written. */
  const openBeside = async () => {
    const { models, index, end } = await openIndex();
    const { indexFolders } = models;
    await index.openFolder(path('/'), -1, 1);
    await index.put(path('/'), [folder('from')], 1);
    await index.put(path('/from'), [folder('inner')], 1);
    const write = indexFolders.bulkWrite.bind(indexFolders);
    const beforeWrites = (at: number, run: () => Promise<unknown>) => {
      let writes = 0;
      vi.spyOn(indexFolders, 'bulkWrite').mockImplementation(async (...asked) => {
        writes += 1;
        if (writes === at) await run();
        return write(...asked);
      });
    };
    return { index, beforeWrites, end };
  };

  it('what is put into it is queued where it is then', async () => {
    const { index, beforeWrites, end } = await openBeside();
    beforeWrites(1, () => index.move(path('/from'), path('/to')));
    await index.put(path('/from'), [folder('new')], 1);
    expect(await index.children(path('/to'))).toEqual(
      new Map([
        ['inner', true],
        ['new', true],
      ]),
    );
    expect((await index.queued(1, 10)).map((each) => each.path).sort()).toEqual(['/', '/to', '/to/inner', '/to/new']);
    await end();
  });

  it('what is put into what was taken along already is taken along', async () => {
    const { index, beforeWrites, end } = await openBeside();
    // The topmost folder is written second.
    beforeWrites(2, () => index.put(path('/from'), [folder('new')], 1));
    expect(await index.move(path('/from'), path('/to'))).toBe(true);
    expect((await index.queued(1, 10)).map((each) => each.path).sort()).toEqual(['/', '/to', '/to/inner', '/to/new']);
    await end();
  });

  it('nothing of it is left where it is removed, so that all is read at its new place', async () => {
    const { index, beforeWrites, end } = await openBeside();
    beforeWrites(1, () => index.remove(path('/'), ['from'] as never));
    expect(await index.move(path('/from'), path('/to'))).toBe(false);
    expect(await index.children(path('/'))).toEqual(new Map());
    expect((await index.queued(1, 10)).map((each) => each.path)).toEqual(['/']);
    await end();
  });
});

interface Changed {
  readonly insertedCount?: number;
  readonly modifiedCount?: number;
  readonly deletedCount?: number;
}
