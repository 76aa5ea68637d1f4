import fc from 'fast-check';
import { expect, it, vi } from 'vitest';
import { compareNaturally } from './natural-order.ts';

it.each([
  ['a2', 'a10'],
  ['a9b', 'a10a'],
  ['1', '2'],
  ['file', 'file1'],
  ['B', 'a'],
  ['a01', 'a1'],
  ['a1x', 'a01y'],
  ['99999999999999999998', '99999999999999999999'],
  ['x0', 'x00'],
  ['', 'a'],
  ['10/', '10a'],
])('%j comes before %j', (left, right) => {
  expect(compareNaturally(left, right)).toBeLessThan(0);
  expect(compareNaturally(right, left)).toBeGreaterThan(0);
});

const names = fc.string({ unit: fc.constantFrom('0', '1', '2', '9', 'a', 'B', '/', ':', ' ', '.', 'é', '😀'), maxLength: 8 });

it('is a total order: antisymmetric, transitive, and equal only for equal names', () => {
  fc.assert(
    fc.property(names, names, names, (a, b, c) => {
      const sign = (left: string, right: string) => Math.sign(compareNaturally(left, right));
      expect(sign(a, b)).toBe(0 - sign(b, a));
      expect(sign(a, b) === 0).toBe(a === b);
      if (sign(a, b) <= 0 && sign(b, c) <= 0) expect(sign(a, c)).toBeLessThanOrEqual(0);
    }),
    { numRuns: 2_000 },
  );
});

it('names of many numbers are compared without a text for each', () => {
  const replace = vi.spyOn(String.prototype, 'replace');
  expect(compareNaturally(`${'a1'.repeat(100)}2`, `${'a1'.repeat(100)}10`)).toBeLessThan(0);
  expect(replace).not.toHaveBeenCalled();
  replace.mockRestore();
});
