import { countTurns } from '@wharf/harness';
import type { EntryName } from '@wharf/paths';
import { expect, it } from 'vitest';
import type { Folder } from '../reading/listed-entries.ts';
import { openTree, vpath } from '../testing/memory-tree.ts';
import { indexScope } from './index-scope.ts';
import { createListedAhead } from './listed-ahead.ts';
import { reconcileFolder } from './reconcile-folder.ts';
import type { SearchIndex } from './search-index.ts';

const NAMES = 300_000;

it('the names of a folder of hundreds of thousands are looked at in turns with other work', async () => {
  const { snapshot } = await openTree({ storages: [{ mount_path: '/' }] });
  const names = Array.from({ length: NAMES }, (_, number) => `name ${number}` as EntryName);
  const folder = { names, isDirectory: () => false, entries: async () => [] } as unknown as Folder;
  let put = 0;
  const index = {
    children: async () => new Map(),
    async put() {
      put += 1;
    },
  } as unknown as SearchIndex;
  const turns = countTurns();
  const walk = {
    snapshot,
    scope: indexScope(snapshot),
    folderCache: { read: async () => folder },
    index,
    generation: 1,
    isFresh: false,
    ahead: createListedAhead(),
    signal: new AbortController().signal,
  };
  expect(await reconcileFolder(walk, vpath('/'))).toBe(NAMES);
  turns.stop();
  expect(put).toBe(NAMES / 1_000);
  expect(turns.count()).toBeGreaterThan(5);
});
