import { expect, it } from 'vitest';
import { RememberedNames } from './remembered-names.ts';

it('of all rules together so much is remembered of names, the last ones', () => {
  const names = new RememberedNames(100_000);
  const rules = Array.from({ length: 20 }, () => ({}));
  const nameOf = (index: number) => String(index).padEnd(255, 'x');
  for (const rule of rules) for (let index = 0; index < 200; index += 1) names.set(rule, nameOf(index), true);
  const left = rules.map((rule) => Array.from({ length: 200 }, (_, index) => names.get(rule, nameOf(index))).filter(Boolean).length);
  expect(left.reduce((sum, count) => sum + count)).toBeLessThan(100_000 / 255);
  expect(names.get(rules.at(-1) ?? {}, nameOf(199))).toBe(true);
});

it('each rule has its own answer', () => {
  const names = new RememberedNames();
  const [one, other] = [{}, {}];
  names.set(one, 'a', true);
  names.set(other, 'a', false);
  expect([names.get(one, 'a'), names.get(other, 'a'), names.get({}, 'a')]).toEqual([true, false, undefined]);
});
