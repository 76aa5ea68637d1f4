import { expect, it } from 'vitest';
import { locate } from '../domain/snapshot/snapshot.ts';
import { openTree, vpath } from '../domain/testing/memory-tree.ts';
import { refusalOf } from '../domain/testing/refusal.ts';
import { createTestDriver } from '../domain/testing/test-drivers.ts';
import { copyEntries, moveEntries } from './testing/place-now.ts';

/** Two storages whose listings are kept. */
async function setUp() {
  const [from, to] = ['From', 'To'].map((name) => createTestDriver(name, ['listNames', 'statMany'])) as [
    ReturnType<typeof createTestDriver>,
    ReturnType<typeof createTestDriver>,
  ];
  const memory = await openTree({
    drivers: [from.definition, to.definition],
    storages: [
      { mount_path: '/a', driver: 'From' },
      { mount_path: '/t', driver: 'To' },
    ],
  });
  for (const path of ['/a/d/f', '/a/d/e/g', '/a/other', '/t/there']) await memory.put(path, 'text');
  const listed = async (path: string) =>
    (await memory.folderCache.read(locate(memory.snapshot, vpath(path)), { refresh: false, signal: undefined })).names;
  const request = { src_dir: '/a', dst_dir: '/t', names: ['d', 'other'], overwrite: false, skip_existing: false };
  return { memory, from, to, listed, request };
}

it('what a task copies and moves is in the kept listings of both places, which are not read again', async () => {
  const { memory, from, to, listed, request } = await setUp();
  expect([await listed('/a'), await listed('/t')]).toEqual([['d', 'other'], ['there']]);
  await copyEntries(memory.operation(), request);
  const [reads, targetReads] = [from.listings(), to.listings()];
  expect(await listed('/t')).toEqual(['there', 'd', 'other']);
  expect([from.listings(), to.listings()]).toEqual([reads, targetReads]);
  expect(memory.published).toEqual(expect.arrayContaining(['/t/d', '/t/other']));

  await moveEntries(memory.operation(), { ...request, overwrite: true });
  const before = [from.listings(), to.listings()];
  expect([await listed('/t'), from.listings(), to.listings()]).toEqual([['there', 'd', 'other'], ...before]);
  // What is empty is never kept.
  expect(await listed('/a')).toEqual([]);
});

it('a task that fails has the listings of its target read again', async () => {
  const { memory, to, listed, request } = await setUp();
  await listed('/t');
  to.failWrites((path) => path.endsWith('/g'));
  await refusalOf(copyEntries(memory.operation(), request));
  const reads = to.listings();
  expect(await listed('/t/d')).toEqual(expect.arrayContaining(['f']));
  expect(to.listings()).toBe(reads + 1);
});
