import { expect, it } from 'vitest';
import { isYounger, lasts } from './set-clocks.ts';

it('what is of the future is not young, and a lease that has more left than it can have has run out', () => {
  expect([1_000, 1_001, 1_099, 1_100, 999].map((nowMs) => isYounger(1_000, nowMs, 100))).toEqual([true, true, true, false, false]);
  expect([900, 899, 999, 1_000, 1_001].map((nowMs) => lasts(1_000, nowMs, 100))).toEqual([true, false, true, false, false]);
});
