import { expect, it } from 'vitest';
import { createShelf } from './answer-shelf.ts';

it('of too many answers the oldest go: first those of their user, then those of anybody', () => {
  const shelf = createShelf();
  expect(shelf.put({ _id: 'before', length: 0 })).toEqual([]);
  const put = (userId: number, number: number, length = 0) => shelf.put({ _id: `${userId}-${number}`, userId, length });
  for (let number = 0; number < 2_000; number += 1) expect(put(1, number)).toEqual([]);
  expect(put(1, 2_000)).toEqual(['1-0']);
  expect(put(1, 2_001, 3_000)).toEqual(['1-1', '1-2', '1-3']);
  for (let userId = 2; userId <= 10; userId += 1) for (let number = 0; number < 1_999; number += 1) put(userId, number);
  for (let number = 0; number < 8; number += 1) put(11, number);
  expect(put(11, 8)).toEqual(['before']);
  expect(put(11, 9)).toEqual(['1-4']);
});
