import { expect, it } from 'vitest';
import { forgetCaches, forgettable } from './forgettable.ts';

it('all that can be forgotten is, and is told of once', () => {
  forgetCaches();
  const [one, other, empty] = [forgettable(new Map([[1, 'a']])), forgettable(new Set(['b'])), forgettable(new Map())];
  expect(forgetCaches()).toBe(true);
  expect([one.size, other.size, empty.size]).toEqual([0, 0, 0]);
  expect(forgetCaches()).toBe(false);
  one.set(2, 'c');
  expect(forgetCaches()).toBe(true);
  expect(one.size).toBe(0);
});
