import { expect, it } from 'vitest';
import type { FolderCache, Outcome } from '../reading/folder-cache.ts';
import { vpath } from '../testing/memory-tree.ts';
import { createChanges } from './changes.ts';

const folderCache = { take: ({ path }: Outcome) => [path], forget: () => undefined } as unknown as FolderCache;

/** What the search index is told, where all shows in an Alias, too, and somewhere in a storage with other names. */
function noting() {
  const noted: unknown[] = [];
  const changes = createChanges(
    folderCache,
    () => undefined,
    (paths, isSame) => [...paths.map((path) => vpath(`/alias${path}`)), ...(isSame ? [] : [vpath('/crypt')])],
    {
      noteChanges: (paths) => void noted.push(['changed', ...paths]),
      noteGone: (paths) => void noted.push(['gone', ...paths]),
      noteMove: (...ends) => void noted.push(['moved', ...ends]),
    },
  );
  return { changes, noted };
}
const at = (path: string, entry?: object) => ({ path: vpath(path), entry }) as Outcome;

it('tells the search index where a moved folder shows elsewhere that another one may be there by now, and of a storage with other names only that something changed', () => {
  const { changes, noted } = noting();
  changes.entryMoved(at('/a'), at('/b', {}));
  expect(noted).toEqual([
    ['gone', '/alias/a', '/alias/b'],
    ['changed', '/crypt'],
    ['moved', '/a', '/b'],
  ]);
});

it('tells the search index that what was removed is gone: another one may be there by now', () => {
  const { changes, noted } = noting();
  changes.entryBecame(at('/a'));
  changes.entryGone(vpath('/b'));
  changes.entryBecame(at('/c', {}));
  const told = (what: string, path: string) => [
    [what, `/alias${path}`],
    ['changed', '/crypt'],
    [what, path],
  ];
  expect(noted.filter((each) => !(each as string[]).includes('changed') || (each as string[]).includes('/crypt'))).toEqual([
    ...told('gone', '/a'),
    ...told('gone', '/b'),
    ['changed', '/alias/c', '/crypt'],
  ]);
});
