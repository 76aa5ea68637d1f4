import { expect, it } from 'vitest';
import type { FolderCache, Outcome } from '../reading/folder-cache.ts';
import { vpath } from '../testing/memory-tree.ts';
import { createChanges } from './changes.ts';

it('tells the search index where a moved folder shows elsewhere that another one may be there by now', () => {
  const noted: unknown[] = [];
  const folderCache = { take: ({ path }: Outcome) => [path], forget: () => undefined } as unknown as FolderCache;
  const changes = createChanges(
    folderCache,
    () => undefined,
    (paths) => paths.map((path) => vpath(`/alias${path}`)),
    { noteChanges: (paths) => void noted.push(...paths), noteMove: (...ends) => void noted.push(ends) },
  );
  const at = (path: string) => ({ path: vpath(path) }) as Outcome;
  changes.entryMoved(at('/a'), at('/b'));
  expect(noted).toEqual([
    ['/alias/a', '/alias/a'],
    ['/alias/b', '/alias/b'],
    ['/a', '/b'],
  ]);
});
