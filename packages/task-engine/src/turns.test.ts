import { expect, it } from 'vitest';
import { createTurns } from './turns.ts';

it('everybody has one turn before anybody has a second one; who is alone is not passed over until tasks may have come', () => {
  const turns = createTurns();
  expect(turns.servedOf('copy')).toEqual([]);
  turns.note('copy', 3);
  turns.note('copy', 4);
  expect(turns.servedOf('copy')).toEqual([3, 4]);
  expect(turns.servedOf('move')).toEqual([]);
  turns.end('copy');
  turns.note('copy', 3);
  expect(turns.servedOf('copy')).toEqual([]);
  turns.look();
  expect(turns.servedOf('copy')).toEqual([3]);
});

it('users come by their ids, round and round, and who has a share is left out', () => {
  const turns = createTurns();
  const end = Number.MAX_SAFE_INTEGER;
  expect(turns.spansOf('copy', [])).toEqual([{ above: -1, below: end }]);
  turns.noteInTurn('copy', 4, []);
  expect(turns.spansOf('copy', [])).toEqual([
    { above: 4, below: end },
    { above: -1, below: 5 },
  ]);
  expect(turns.spansOf('copy', [9, 5, 0, 4])).toEqual([
    { above: 5, below: 9 },
    { above: 9, below: end },
    { above: 0, below: 4 },
  ]);
  turns.noteInTurn('copy', 7, []);
  expect(turns.servedOf('copy')).toEqual([4, 7]);
  turns.noteInTurn('copy', 4, []);
  expect(turns.servedOf('copy')).toEqual([4]);
  turns.noteInTurn('copy', 4, [9]);
  expect(turns.isByUser('copy')).toBe(true);
  turns.noteInTurn('copy', 4, []);
  expect(turns.isByUser('copy')).toBe(false);
  turns.look();
  expect(turns.isByUser('copy')).toBe(true);
  turns.goByTime('copy');
  expect(turns.isByUser('copy')).toBe(false);
  turns.look();
  expect(turns.isByUser('copy')).toBe(true);
});
