import { makeTempDir } from '@wharf/harness';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { folder, path } from '../../../test/search/plain-scan.ts';
import { createIndexOperations, type IndexOperations } from './index-operations.ts';
import { IN_SUBTREE, STEP_ENTRIES, type Steps, subtree } from './index-tables.ts';
import { type IndexFile, openIndexFile } from './schema.ts';

let dir: Awaited<ReturnType<typeof makeTempDir>>;
let file: IndexFile;
let operations: IndexOperations;

beforeEach(async () => {
  dir = await makeTempDir('search');
  file = openIndexFile(`${dir.path}/index.sqlite`);
  operations = createIndexOperations(file);
});
afterEach(async () => {
  file.close();
  await dir.remove();
});

/** What came of it, and how often others had their turn. */
function run<Result>(steps: Steps<Result>): { result: Result; turns: number } {
  for (let turns = 0; ; turns += 1) {
    const step = steps.next();
    if (step.done) return { result: step.value, turns };
  }
}

/** Paths of folders with a condition. */
const pathsWhere = (condition: string, ...values: readonly string[]) =>
  file.writer
    .prepare(`SELECT path FROM folders WHERE ${condition} ORDER BY path`)
    .all(...values)
    .map((row) => String(row['path']));

it('finds what lies below a folder by the index of paths, not by a look at every folder', () => {
  for (const each of ['/', '/a', '/a!', '/a-b', '/a/b', '/a/b/c', '/a0', '/b']) operations.openFolder(path(each), 1, 1);
  expect(pathsWhere(IN_SUBTREE, ...subtree(path('/a')))).toEqual(['/a', '/a/b', '/a/b/c']);
  expect(pathsWhere(IN_SUBTREE, ...subtree(path('/')))).toHaveLength(8);
  const steps = file.writer.prepare(`EXPLAIN QUERY PLAN SELECT id FROM folders WHERE ${IN_SUBTREE} LIMIT 1`).all(...subtree(path('/a')));
  expect(steps.filter(({ detail }) => String(detail).startsWith('SCAN'))).toEqual([]);
});

it('what concerns many folders gives others their turn', () => {
  const many = 4 * STEP_ENTRIES;
  operations.openFolder(path('/'), 9, 1);
  run(operations.put(path('/'), [folder('a'), folder('other')], 1));
  run(operations.put(path('/a'), [folder('top'), folder('top-2')], 1));
  for (let number = 0; number < many; number += 1) operations.openFolder(path(`/a/top/${number}`), 5, 1);

  const queued = run(operations.queued(1, 10, [{ place: path('/a/top'), without: [] }]));
  expect(queued.result.map((each) => each.path)).toEqual(['/', '/a', '/other', '/a/top-2']);
  expect(queued.turns).toBeGreaterThan(3);
  expect(run(operations.queued(1, 3, [])).result.map((each) => each.path)).toEqual(['/', '/a', '/other']);

  expect(run(operations.requeue(path('/a'), 2, true)).turns).toBeGreaterThan(3);
  expect(pathsWhere('queued = 1')).toEqual(['/', '/other']);

  const moved = run(operations.move(path('/a/top'), path('/other/new')));
  expect(moved.result).toBe(true);
  expect(moved.turns).toBeGreaterThan(3);
  expect(pathsWhere(IN_SUBTREE, ...subtree(path('/a')))).toEqual(['/a', '/a/top-2']);
  expect(pathsWhere(IN_SUBTREE, ...subtree(path('/other/new')))).toHaveLength(many + 1);

  expect(run(operations.settleAll({ place: path('/other'), without: [path('/other/new/1')] })).turns).toBeGreaterThan(3);
  expect(pathsWhere('queued IS NOT NULL')).toEqual(['/', '/a', '/a/top-2', '/other/new/1']);
});

it('a move that a crash ends half way has what a folder holds at its new place before the folder itself: who lists that later finds nothing missing', () => {
  operations.openFolder(path('/'), 9, 1);
  run(operations.put(path('/'), [folder('a'), folder('other')], 1));
  run(operations.put(path('/a'), [folder('top')], 1));
  for (let number = 0; number < STEP_ENTRIES; number += 1)
    for (const each of ['', '/x', '/y']) operations.openFolder(path(`/a/top/${number}${each}`), 5, 1);

  const steps = operations.move(path('/a/top'), path('/other/new'));
  steps.next();
  const there = pathsWhere(IN_SUBTREE, ...subtree(path('/other/new')));
  expect(there.length).toBeGreaterThan(STEP_ENTRIES / 2);
  expect(there.filter((each) => /\d$/.test(each)).filter((each) => !there.includes(`${each}/x`) || !there.includes(`${each}/y`))).toEqual(
    [],
  );

  // Tried again it would take along what is left at the old place alone, and nobody would list the others.
  expect(run(operations.move(path('/a/top'), path('/other/new'))).result).toBe(false);
  expect(pathsWhere('TRUE')).toEqual(['/', '/a', '/other']);
  expect([...operations.children(path('/a')).keys()]).toEqual(['top']);
});

it('a removal that a crash ends half way is found again by the entry', () => {
  operations.openFolder(path('/'), 9, 1);
  run(operations.put(path('/'), [folder('a')], 1));
  for (let number = 0; number < 3; number += 1) operations.openFolder(path(`/a/${number}`), 5, 1);
  const steps = operations.remove(path('/'), [folder('a').name]);
  steps.next();
  // What is in a folder goes before it: a folder that is there is not listed again.
  expect(pathsWhere(IN_SUBTREE, ...subtree(path('/a')))).toEqual(['/a', '/a/0', '/a/1']);
  expect([...operations.children(path('/')).keys()]).toEqual(['a']);
  run(operations.remove(path('/'), [folder('a').name]));
  expect([pathsWhere('TRUE'), [...operations.children(path('/')).keys()]]).toEqual([['/'], []]);
});
