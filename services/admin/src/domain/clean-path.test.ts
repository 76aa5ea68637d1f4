import { AppError } from '@wharf/errors';
import { describe, expect, it } from 'vitest';
import { cleanMountPath, cleanPath } from './clean-path.ts';

const codeOf = (raw: string) => {
  try {
    return cleanPath(raw, 'path');
  } catch (error) {
    return AppError.from(error).code;
  }
};

describe('cleanPath', () => {
  it.each([
    ['/', '/'],
    ['/a/b', '/a/b'],
    ['a', '/a'],
    ['//a///b/', '/a/b'],
    ['\\a\\b', '/a/b'],
    ['/./a/.', '/a'],
    ['/a..b/...', '/a..b/...'],
    ['/%2e%2e/a', '/%2e%2e/a'],
    ['/x.balance1', '/x.balance1'],
    [' /a ', '/ /a '],
  ])('%j is %j', (raw, clean) => {
    expect(cleanPath(raw, 'path')).toBe(clean);
    expect(cleanPath(clean, 'path')).toBe(clean);
  });

  it.each(['..', '/a/../b', '/..', 'a\\..\\b', '/a\nb', '/a\u0000', '/\ud800'])('%j is unsafe', (raw) => {
    expect(codeOf(raw)).toBe('UNSAFE_PATH');
  });

  it.each([
    ['nothing', ''],
    ['a long name', `/${'ä'.repeat(128)}`],
    ['a long path', '/abcdefg'.repeat(513)],
  ])('refuses %s', (_what, raw) => {
    expect(codeOf(raw)).toBe('INVALID_ARGUMENT');
  });
});

it('a mount path whose storage would lie nowhere is refused', () => {
  for (const raw of ['/a/...balance', '/...balance/b', '/a/...balance1'])
    expect(() => cleanMountPath(raw)).toThrow(expect.objectContaining({ code: 'UNSAFE_PATH' }));
  expect(['a/', '/a.balance1', '/.balance'].map(cleanMountPath)).toEqual(['/a', '/a.balance1', '/.balance']);
});
