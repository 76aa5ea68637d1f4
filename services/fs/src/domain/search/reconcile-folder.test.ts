import { AppError } from '@wharf/errors';
import { countTurns } from '@wharf/harness';
import type { EntryName } from '@wharf/paths';
import { expect, it } from 'vitest';
import { virtualEntry } from '../reading/list-entries.ts';
import type { Folder } from '../reading/listed-entries.ts';
import { openTree, vpath } from '../testing/memory-tree.ts';
import { createTestDriver } from '../testing/test-drivers.ts';
import { indexScope } from './index-scope.ts';
import { createListedAhead } from './listed-ahead.ts';
import { FolderUnreadable, reconcileFolder } from './reconcile-folder.ts';
import type { SearchIndex } from './search-index.ts';

const NAMES = 300_000;

/** A walk through a tree, whose folders are read by `read`. */
async function walkOf(index: Partial<SearchIndex>, read: () => Promise<Partial<Folder>>) {
  const { snapshot } = await openTree({ storages: [{ mount_path: '/' }] });
  return {
    snapshot,
    scope: indexScope(snapshot),
    folderCache: { read: read as () => Promise<Folder> },
    index: index as SearchIndex,
    generation: 1,
    isFresh: false,
    ahead: createListedAhead(),
    signal: new AbortController().signal,
  };
}

it.each([
  ['is not found', () => Promise.reject(new AppError('ENTRY_NOT_FOUND', 'object not found'))],
  ['is lost after its names were told', async () => ({ names: ['file' as EntryName], isDirectory: () => false, entries: async () => [] })],
])(
  'a folder that %s goes with all above it that is gone: it may have another name, to which the rest would go without it',
  async (_, read) => {
    const removed: unknown[] = [];
    const index: Partial<SearchIndex> = {
      children: async () => new Map(),
      put: async () => undefined,
      remove: async (...asked) => void removed.push(asked),
    };
    await reconcileFolder(await walkOf(index, read), vpath('/old/inner/deep'));
    expect(removed).toEqual([['/', ['old']]]);
  },
);

it('the names of a folder of hundreds of thousands are looked at in turns with other work', async () => {
  const names = Array.from({ length: NAMES }, (_, number) => `name ${number}` as EntryName);
  const folder = {
    names,
    isDirectory: () => false,
    entries: async (asked: readonly EntryName[]) => asked.map((name) => virtualEntry({ name, modifiedAt: new Date(0) })),
  };
  let put = 0;
  const index: Partial<SearchIndex> = {
    children: async () => new Map(),
    async put() {
      put += 1;
    },
  };
  const turns = countTurns();
  const walk = await walkOf(index, async () => folder);
  expect(await reconcileFolder(walk, vpath('/'))).toBe(NAMES);
  turns.stop();
  expect(put).toBe(NAMES / 1_000);
  expect(turns.count()).toBeGreaterThan(5);
});

it('a folder that is not there while the root of its storage is not either keeps what the index has of it', async () => {
  const away = createTestDriver('Away');
  const { snapshot } = await openTree({ storages: [{ mount_path: '/nas', driver: 'Away' }], drivers: [away.definition] });
  const notFound = async () => {
    throw new AppError('ENTRY_NOT_FOUND', 'object not found');
  };
  away.beforeCalls(notFound);
  const removed: unknown[] = [];
  const index: Partial<SearchIndex> = { put: async () => undefined, remove: async (...asked) => void removed.push(asked) };
  for (const path of ['/nas', '/nas/folder'])
    await expect(reconcileFolder({ ...(await walkOf(index, notFound)), snapshot }, vpath(path))).rejects.toThrow(FolderUnreadable);
  expect(removed).toEqual([]);
});
