import { expect, it } from 'vitest';
import { numberedPath } from './numbered-path.ts';

it.each([
  ['/a/b.txt', '/a/b (2).txt'],
  ['/a/b (2).txt', '/a/b (3).txt'],
  ['/a.d/b', '/a.d/b (2)'],
  ['/a/.profile', '/a/.profile (2)'],
  ['/a/b.tar.gz', '/a/b.tar (2).gz'],
])('beside %s there is room for %s', (path, next) => expect(numberedPath(path)).toBe(next));
