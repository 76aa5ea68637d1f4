import { describe, expect, it } from 'vitest';
import { hasWildcard, isLiteralSubject, isPattern, matches } from './subject.ts';

describe('subjects', () => {
  it.each([
    ['a', true],
    ['wharf.fs.entry-changed.v1', true],
    ['a*.b>', true],
    ['', false],
    ['.a', false],
    ['a.', false],
    ['a..b', false],
    ['a.*', false],
    ['>', false],
  ])('"%s" as the subject of a message: %s', (subject, isValid) => {
    expect(isLiteralSubject(subject)).toBe(isValid);
  });

  it.each([
    ['a.b', true],
    ['*', true],
    ['>', true],
    ['a.*.b.>', true],
    ['a.>.b', false],
    ['a..>', false],
    ['', false],
  ])('"%s" as a subscription: %s', (pattern, isValid) => {
    expect(isPattern(pattern)).toBe(isValid);
  });

  it.each([
    ['a.b', 'a.b', true],
    ['a.b', 'a.c', false],
    ['a.b', 'a', false],
    ['a.b', 'a.b.c', false],
    ['a.*', 'a.b', true],
    ['a.*', 'a', false],
    ['a.*', 'a.b.c', false],
    ['*.b', 'a.b', true],
    ['a.>', 'a.b.c', true],
    ['a.>', 'a', false],
    ['>', 'a', true],
    ['a*', 'ab', false],
    ['a*', 'a*', true],
  ])('%s takes %s: %s', (pattern, subject, isMatch) => {
    expect(matches(pattern.split('.'), subject.split('.'))).toBe(isMatch);
  });

  it('a wildcard is a whole token', () => {
    expect([hasWildcard('a.*'), hasWildcard('a.>'), hasWildcard('a*.b>')]).toEqual([true, true, false]);
  });
});
