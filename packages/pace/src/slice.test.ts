import { expect, it } from 'vitest';
import { boundsOf, sliceOf } from './slice.ts';

it.each([
  [1, 2, [1, 2]],
  [2, 2, [3]],
  [0, 2, [1, 2]],
  [-5, 2, [1, 2]],
  [1, 0, [1, 2, 3]],
  [7, 0, [1, 2, 3]],
  [7, -1, [1, 2, 3]],
  [Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER, []],
])('page %i of %i entries each', (page, perPage, content) => {
  const all = [1, 2, 3];
  const { start, end } = boundsOf(sliceOf(page, perPage), all.length);
  expect(all.slice(start, end)).toEqual(content);
  expect(start).toBeLessThanOrEqual(3);
});
