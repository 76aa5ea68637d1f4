import { describe, expect, it } from 'vitest';
import { pageOf } from './page-of.ts';

describe('pageOf', () => {
  it.each([
    [1, 2, [1, 2]],
    [2, 2, [3]],
    [0, 2, [1, 2]],
    [-5, 2, [1, 2]],
    [1, 0, [1, 2, 3]],
    [7, 0, [1, 2, 3]],
    [2 ** 31 - 1, 2 ** 31 - 1, []],
  ])('page %i of %i entries each', (page, perPage, content) => {
    expect(pageOf([1, 2, 3], page, perPage)).toEqual({ content, total: 3 });
  });
});
