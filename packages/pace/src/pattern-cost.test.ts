import fc from 'fast-check';
import { expect, it } from 'vitest';
import { createPatternBound, isHugePattern, MAX_PATTERNS_BYTES, patternSteps, patternsBytes } from './pattern-cost.ts';

it.each([
  ['', 0],
  ['abc', 3],
  ['a|b', 3],
  ['a*b+?', 5],
  ['x{1000}', 1_000],
  ['x{2,50}', 50],
  ['x{7,}', 7],
  // No repetitions.
  ['x{,5}', 5],
  ['x{a}', 4],
  ['{1000}', 0],
  ['\\{1000}', 6],
  ['[{1000}]', 1],
  ['[]{1000}]', 1],
  ['[^]{1000}]', 1],
  ['[\\]{1000}]', 1],
  ['\\x{1000}', 10],
  ['\\Qx{1000}\\E', 11],
  // What is repeated is what stands before.
  ['ab{100}', 101],
  ['[a-z]{100}', 100],
  ['\\d{100}', 100],
  ['😀{100}', 100],
  ['(ab){100}', 200],
  ['(?:ab){100}', 200],
  ['(?P<name>ab){100}', 200],
  ['(?i)ab{100}', 101],
  ['((a{10}){10}){10}', 1_000],
  ['(x*){1000}(x*){1000}', 4_000],
  ['x{0}', 1],
  // What is no pattern.
  ['(a{100}', 100],
  ['a)b{100}', 101],
  ['[a{100}', 1],
])('%j has about %i steps', (pattern, steps) => expect(patternSteps(pattern)).toBe(steps));

it('tables of Unicode count more', () => {
  expect(patternSteps('\\pL\\p{Greek}[\\pL\\pN]')).toBe(41);
});

it('is linear in the length of a pattern', () => {
  for (const part of ['(', '[', '{', '{1', '\\', '\\Q', '\\p{', '(?', '[[:', ')'])
    expect(patternSteps(part.repeat(20_000))).toBeGreaterThanOrEqual(0);
});

it.each([
  ['ranges in one class', `(?i)[${'a-\u{1e900}'.repeat(240)}]`, true],
  ['ranges of classes', `(?i:${'[B-\\x{1e942}]'.repeat(70)})`, true],
  ['ranges of a script', `(?im)${'[a-\u9fa5]'.repeat(100)}`, true],
  ['ranges whose case counts', `[${'a-\u{1e900}'.repeat(240)}]`, false],
  ['a range that is repeated', '(?i)^[\u4e00-\u9fa5]{1,30} - s\\d+e\\d+ [a-z0-9-]+$', false],
  ['short ranges', `(?i)${'[a-z]'.repeat(190)}`, false],
])('of %s a pattern is huge, or not', (_, pattern, isHuge) => expect(isHugePattern(pattern)).toBe(isHuge));

it.each([
  ['tables', `(?i)${'\\p{L}'.repeat(60)}`, 16],
  ['ranges', '(?i)[\\x{100}-\\x{1e000}]', 31],
  ['repeated choices', '(?i)(?:[a-k]?[a-z0-9]){60}[^a-z0-9]', 12],
  ['many choices', Array.from({ length: 60 }, (_, index) => `[a-z]${index}`).join('|'), 16],
  ['usual names', '(?i)^.*(private|secret) [0-9]{4}\\.tmp$', 200],
  ['long names', `^${'a name of a file, '.repeat(50)}$`, 200],
  ['a table each', '(?i)^\\p{L}{2}[a-z]+\\.tmp$', 200],
])('of patterns of %s that are compiled together some are too many', (_, pattern, most) => {
  const isHuge = createPatternBound();
  expect(Array.from({ length: 200 }, () => isHuge(pattern)).filter((is) => !is)).toHaveLength(most);
});

it('what patterns take together is counted by their lines, and one rule may have as many as it may have', () => {
  expect([patternsBytes(''), patternsBytes('\n\n'), patternsBytes('abc'), patternsBytes('abc\n\na{100}\n')]).toEqual([
    0,
    0,
    2_048 + 3 * 640,
    2 * 2_048 + 103 * 640,
  ]);
  const largest = Array.from({ length: 200 }, (_, line) => `a{290}[bc]${line}`).join('\n');
  expect(patternsBytes(largest)).toBeGreaterThan(MAX_PATTERNS_BYTES / 2);
  expect(patternsBytes(largest)).toBeLessThan(MAX_PATTERNS_BYTES);
});

it('what patterns take is a whole number, as caches that count it need', () => {
  const pieces = fc.constantFrom('(?i)', 'read-write', '[a-d]', '[^B-z]', 'e-\\x{1e900}', '\\p{L}', '{3}', '.*', '|', '\n', 'x');
  fc.assert(
    fc.property(fc.array(pieces), (lines) => {
      expect(Number.isSafeInteger(patternsBytes(lines.join('')))).toBe(true);
    }),
  );
});
