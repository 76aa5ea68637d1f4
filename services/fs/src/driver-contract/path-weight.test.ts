import { LRUCache } from 'lru-cache';
import { expect, it } from 'vitest';
import { maxPaths } from './path-weight.ts';

it.each([
  ['short', 10, 100],
  ['long', 3_990, 5],
])('a cache by paths that are %s keeps what takes about as much', (_title, length, count) => {
  const cache = new LRUCache<string, true>(maxPaths(100));
  for (let index = 0; index < 300; index += 1) cache.set(`/${'d'.repeat(length)}/${index}`, true);
  expect(cache.size).toBe(count);
});
