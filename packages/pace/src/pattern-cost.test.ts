import { expect, it } from 'vitest';
import { patternSteps } from './pattern-cost.ts';

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
