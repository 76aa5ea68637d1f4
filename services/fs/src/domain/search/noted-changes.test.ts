import { expect, it } from 'vitest';
import { vpath } from '../testing/memory-tree.ts';
import { createNotedChanges } from './noted-changes.ts';

it('changes that wait are noted each once', () => {
  const changes = createNotedChanges();
  for (const _time of [1, 2]) changes.note(vpath('/a/b'));
  changes.note(vpath('/a/b'), vpath('/c'));
  expect(changes.size()).toBe(2);
  expect(changes.take()).toEqual([['/a/b'], ['/a/b', '/c']]);
  expect(changes.take()).toEqual([]);
});

it.each([
  ['many', 20_000, ''],
  ['long', 1_300, `/${'x'.repeat(250)}`.repeat(6)],
])('of too %s changes, moves among them, the folders are noted, and of far more nothing', (_what, most, name) => {
  const changes = createNotedChanges();
  for (let index = 0; index < 5 * most; index += 1) changes.note(vpath(`/from/${index}${name}`), vpath(`/to/${index}${name}`));
  const noted = changes.take();
  expect(noted.length).toBeLessThanOrEqual(2 * 20_000);
  expect(noted.join('').length).toBeLessThan(2 * 4.1 * 1024 * 1024);
  expect(noted[0]).toHaveLength(2);
  expect(noted.at(-1)).toHaveLength(1);
  changes.note(vpath('/from/a'), vpath('/to/a'));
  expect(changes.take()).toEqual([['/from/a', '/to/a']]);
});
