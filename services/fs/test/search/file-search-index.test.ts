import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { makeTempDir } from '@wharf/harness';
import { expect, it } from 'vitest';
import { FIRST_STATE, type SearchIndex } from '../../src/domain/search/search-index.ts';
import { actor } from '../../src/domain/testing/memory-tree.ts';
import { openFileSearchIndex } from '../../src/search-engines/file/file-search-index.ts';
import { file, path } from './plain-scan.ts';
import { describeSearchIndex } from './search-index.suite.ts';

const SEARCH = {
  ...({ scope: 'all', parent: path('/'), page: 1, perPage: 10 } as const),
  viewer: { actor: actor(), password: '', rules: [] },
};

describeSearchIndex('in a file', async () => {
  const dir = await makeTempDir('search');
  const index = await openFileSearchIndex(dir.path);
  return {
    ...index,
    async close() {
      await index.close();
      await dir.remove();
    },
  };
});

it('what was answered is there after the file is opened again', async () => {
  const dir = await makeTempDir('search');
  const first = await openFileSearchIndex(dir.path);
  await first.openFolder(path('/'), 3, 1);
  await first.put(path('/'), [file('kept')], 1);
  await first.replaceState({ ...FIRST_STATE, isDone: true });
  await first.close();
  const second = await openFileSearchIndex(dir.path);
  expect([...(await second.children(path('/'))).keys()]).toEqual(['kept']);
  expect(await second.readState()).toMatchObject({ isDone: true, revision: 1 });
  await second.close();
  await expect(second.count()).rejects.toMatchObject({ code: 'STORAGE_UNAVAILABLE' });
  await dir.remove();
});

it('C19: a search over 50,000 names that match as badly as they can holds up nobody else', async () => {
  const dir = await makeTempDir('search');
  const index = await openFileSearchIndex(dir.path);
  await index.openFolder(path('/'), 1, 1);
  const bad = Array.from({ length: 50_000 }, (_, number) => file(`${'ab'.repeat(110)}${number}`));
  await index.put(path('/'), [...bad, file('the other one')], 1);
  const viewer = { actor: actor(), password: '', rules: [] };
  const query = { scope: 'all', parent: path('/'), page: 1, perPage: 10, viewer } as const;
  const ended: string[] = [];
  const slow = index
    .search({ ...query, words: [...Array.from({ length: 200 }, () => 'ab'.repeat(100)), 'a', 'c'] })
    .finally(() => ended.push('slow'));
  const all = index.search({ ...query, words: ['b'] }).finally(() => ended.push('all'));
  const quick = index.search({ ...query, words: ['other'] }).finally(() => ended.push('quick'));
  expect(await quick).toMatchObject({ total: 1 });
  expect(ended).toEqual(['quick']);
  expect((await slow).total).toBe(0);
  expect((await all).total).toBe(50_000);
  await index.close();
  await dir.remove();
});

it('what is put is found, however many searches go on beside each other without a pause', async () => {
  const dir = await makeTempDir('search');
  const index = await openFileSearchIndex(dir.path);
  await index.openFolder(path('/'), 1, 1);
  const many = Array.from({ length: 20_000 }, (_, number) => file(`one of many ${number}`));
  await index.put(path('/'), many, 1);
  const viewer = { actor: actor(), password: '', rules: [] };
  const query = { scope: 'all', parent: path('/'), page: 1, perPage: 10, viewer } as const;
  const totals: Array<Promise<number>> = [];
  const searchAll = async () => (await index.search({ ...query, words: ['many'] })).total;
  const searchFor = async (word: string) => {
    // The next one begins while others are half way.
    if (tries % 3 === 0) totals.push(searchAll());
    return (await index.search({ ...query, words: [word] })).total;
  };
  let tries = 0;
  for (; tries < 10; tries += 1) await searchFor('other');
  await index.put(path('/'), [file('the new one')], 1);
  while (tries < 300 && (await searchFor('new')) === 0) tries += 1;
  expect(tries).toBeLessThan(300);
  // What they go on with is what comes next, each once.
  expect(new Set(await Promise.all(totals))).toEqual(new Set([20_000]));
  await index.close();
  await dir.remove();
});

it('a thread that has ended is followed by another one, over the same file', async () => {
  const dir = await makeTempDir('search');
  const index = await openFileSearchIndex(dir.path);
  await index.openFolder(path('/'), 1, 1);
  await index.put(path('/'), [file('kept')], 1);
  const query = { words: ['kept'], scope: 'all', parent: path('/'), page: 1, perPage: 10 } as const;
  const viewer = { actor: actor(), password: '' };
  // No rule: it is thrown in the thread, where nobody catches it, as it is when the thread has no memory left.
  const broken = index.search({ ...query, viewer: { ...viewer, rules: [null as never] } });
  await expect(broken).rejects.toMatchObject({ code: 'STORAGE_UNAVAILABLE' });
  const rules: [] = [];
  const answers = await Promise.all([1, 2, 3].map(() => index.search({ ...query, viewer: { ...viewer, rules } })));
  expect(answers.map(({ total }) => total)).toEqual([1, 1, 1]);
  expect([...(await index.children(path('/'))).keys()]).toEqual(['kept']);
  await index.close();
  await expect(index.count()).rejects.toMatchObject({ code: 'STORAGE_UNAVAILABLE' });
  await dir.remove();
});

it('a file that is damaged, or is something else, is replaced by an empty index', async () => {
  const dir = await makeTempDir('search');
  await writeFile(`${dir.path}/index.sqlite`, 'this is no database, but long enough to be looked at as one'.repeat(50));
  const index = await openFileSearchIndex(dir.path);
  expect(await index.count()).toBe(0);
  expect(await index.readState()).toEqual({ ...FIRST_STATE, isDone: true, error: expect.stringContaining('build the index again') });
  await index.close();
  await dir.remove();
});

/** An index whose file is damaged behind its first pages: when it is opened nothing is seen of that. */
async function openDamaged() {
  const dir = await makeTempDir('search');
  const whole = await openFileSearchIndex(dir.path);
  await whole.openFolder(path('/'), 1, 1);
  const many = Array.from({ length: 5_000 }, (_, number) => file(`one of many ${number}`));
  await whole.put(path('/'), many, 1);
  await whole.replaceState({ ...FIRST_STATE, isDone: true });
  await whole.close();
  const place = `${dir.path}/index.sqlite`;
  const bytes = await readFile(place);
  await writeFile(place, bytes.fill(0xa5, 30 * 4_096));
  return { dir, index: await openFileSearchIndex(dir.path) };
}

it.each<[string, (index: SearchIndex) => Promise<unknown>]>([
  ['a search', (index) => index.search({ ...SEARCH, words: ['many'] })],
  ['a search for two letters', (index) => index.search({ ...SEARCH, words: ['of'] })],
  ['a change', (index) => index.remove(path('/'), [file('one of many 7').name])],
])('a file that %s finds damaged is replaced by an empty index, which says that it is to be built', async (_, find) => {
  const { dir, index } = await openDamaged();
  await expect(find(index)).rejects.toMatchObject({ code: 'STORAGE_UNAVAILABLE' });
  expect(await index.count()).toBe(0);
  expect(await index.readState()).toMatchObject({ isDone: true, mounts: undefined, error: expect.stringContaining('damaged') });
  await index.openFolder(path('/'), 1, 1);
  await index.put(path('/'), [file('new')], 1);
  expect(await index.search({ ...SEARCH, words: ['new'] })).toMatchObject({ total: 1 });
  await index.close();
  await dir.remove();
});

it('a damaged file is emptied, and goes on with a build that was ordered', async () => {
  const { dir, index } = await openDamaged();
  const before = await index.readState();
  const job = { kind: 'build', paths: [], depth: 1, isPrepared: true } as const;
  await index.replaceState({ ...before, generation: 7, job });
  await index.clear();
  expect(await index.count()).toBe(0);
  expect(await index.readState()).toMatchObject({ generation: 7, job: { ...job, isPrepared: false } });
  await index.close();
  await dir.remove();
});

it('a file of a newer version is refused and stays as it is', async () => {
  const dir = await makeTempDir('search');
  const first = await openFileSearchIndex(dir.path);
  await first.openFolder(path('/'), 1, 1);
  await first.close();
  const place = join(dir.path, 'index.sqlite');
  const versionOf = (change = '') => {
    const database = new DatabaseSync(place);
    database.exec(change);
    const { user_version, folders } = {
      ...database.prepare('PRAGMA user_version').get(),
      ...database.prepare('SELECT count(*) AS folders FROM folders').get(),
    };
    database.close();
    return { user_version, folders };
  };
  const newer = versionOf('PRAGMA user_version = 2');
  const refused = openFileSearchIndex(dir.path).then((index) => index.count());
  await expect(refused).rejects.toMatchObject({
    code: 'STORAGE_UNAVAILABLE',
    cause: expect.objectContaining({ message: expect.stringContaining('of version 2, written by a newer Wharf; start that one') }),
  });
  expect(versionOf()).toEqual(newer);
  await dir.remove();
});

it('says so where the paths of the hits are too long together, and goes on', async () => {
  const dir = await makeTempDir('search');
  const index = await openFileSearchIndex(dir.path, 64);
  const folder = path(`/${'deep'.repeat(60)}`.repeat(16));
  await index.openFolder(folder, 1, 1);
  const names = Array.from({ length: 1_000 }, (_, number) => file(`many ${number}`));
  await index.put(folder, [...names, file('one')], 1);
  const viewer = { actor: actor(), password: '', rules: [] };
  const query = { scope: 'all', parent: path('/'), page: 1, perPage: 1_000, viewer } as const;
  await expect(index.search({ ...query, words: ['many'] })).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
  expect(await index.search({ ...query, words: ['one'] })).toMatchObject({ total: 1 });
  await index.close();
  await dir.remove();
});
