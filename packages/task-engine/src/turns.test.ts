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
