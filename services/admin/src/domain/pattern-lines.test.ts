import { RE2JS } from 're2js';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { findBadPattern } from './pattern-lines.ts';

describe('findBadPattern', () => {
  it.each(['', '\n\n', '^a', 'a\r\n\r\nb\n', '(?i)x', '(?<name>x)'])('takes %j', (text) => {
    expect(findBadPattern(text, 3)).toBeUndefined();
  });

  it.each([
    ['a\n[', '[', 'missing closing ]: `[`'],
    ['(?=a)b', '(?=a)b', 'look-ahead and look-behind are not supported'],
    ['(?<!a)b', '(?<!a)b', 'look-ahead and look-behind are not supported'],
    ['(a)\\1', '(a)\\1', 'invalid escape sequence: `\\1`'],
    ['a\nb\nc\nd', 'd', 'there may be 3 patterns at most'],
  ])('of %j it is %j that is refused', (text, line, reason) => {
    expect(findBadPattern(text, 3)).toEqual({ line, reason });
  });

  it('refuses a pattern that is too long or too complex', () => {
    expect(findBadPattern('a'.repeat(1_001), 3)?.reason).toBe('a pattern may have 1000 characters at most');
    expect(findBadPattern('(?:abcdefgh){900}', 3)?.reason).toBe('the pattern is too complex');
  });

  it('C19: refuses a short pattern that costs a name many milliseconds', () => {
    expect(findBadPattern('(?:[a-z]?[a-y]?){600}[!?]', 3)?.reason).toBe('the pattern is too complex');
  });

  it('C19: refuses one that would become a huge program before it is compiled', () => {
    const compile = vi.spyOn(RE2JS, 'compile');
    onTestFinished(() => compile.mockRestore());
    for (const line of ['(x*){1000}'.repeat(100), 'x{1000}'.repeat(142), `(?i)[${'a-\u{1e900}'.repeat(240)}]`])
      expect(findBadPattern(line, 3)?.reason).toBe('the pattern is too complex');
    expect(compile).not.toHaveBeenCalled();
  });

  it('C19: refuses patterns that take long together', () => {
    const line = `(?i)${'\\p{L}'.repeat(60)}`;
    expect(findBadPattern(`${line}\n`.repeat(16), 200)).toBeUndefined();
    expect(findBadPattern(`${line}\n`.repeat(17), 200)?.reason).toBe(
      'with the patterns before it, it is too complex: all are looked for together',
    );
  });
});
