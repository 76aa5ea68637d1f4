import { expect, it } from 'vitest';
import { maxPaths } from './path-weight.ts';

it.each([
  ['short', 10, 100],
  ['long', 3_990, 5],
])('a cache by paths that are %s has room for what takes about as much', (_title, length, count) => {
  const { max, maxSize, sizeCalculation } = maxPaths(100);
  const weight = sizeCalculation(true, `/${'d'.repeat(length)}`);
  expect(Math.min(max, Math.floor(maxSize / weight))).toBe(count);
});
