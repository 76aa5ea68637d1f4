import { expect, it } from 'vitest';
import { parseBasePath } from './base-path.ts';

it.each([
  ['', '/'],
  ['/', '/'],
  ['team', '/team'],
  ['/team/', '/team'],
  ['//team//a/./b', '/team/a/b'],
  ['\\team\\a', '/team/a'],
  ['/a..b/...', '/a..b/...'],
  ['/%2e%2e', '/%2e%2e'],
])('the base path %j is cleaned to %j', (raw, path) => {
  expect(parseBasePath(raw)).toBe(path);
});

it.each([
  ['..', 'UNSAFE_PATH'],
  ['/a/../b', 'UNSAFE_PATH'],
  ['/a/..', 'UNSAFE_PATH'],
  ['\\..\\a', 'UNSAFE_PATH'],
  ['/a\0', 'UNSAFE_PATH'],
  ['/a\nb', 'UNSAFE_PATH'],
  ['/\ud800', 'UNSAFE_PATH'],
  [`/${'x'.repeat(256)}`, 'INVALID_ARGUMENT'],
  ['/x'.repeat(2_049), 'INVALID_ARGUMENT'],
])('the base path %j is refused', (raw, code) => {
  expect(() => parseBasePath(raw)).toThrow(expect.objectContaining({ code }));
});
