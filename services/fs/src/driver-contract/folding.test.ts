import { expect, it } from 'vitest';
import { KeptNames } from './folding.ts';

const LAST = 'n'.repeat(255);

it.each([
  ['with long names', Array.from({ length: 2_000 }, (_, index) => `${index}`.padStart(255, 'n')), ''],
  ['with long paths', [], 'd'.repeat(600 * 1024)],
])('of folders %s so many are kept, of all storages together, the last ones', (_, names, path) => {
  const storages = Array.from({ length: 50 }, () => new KeptNames());
  const there = new Set([...names, LAST]);
  for (const kept of storages) kept.keep(`1 ${path}`, there, 1);
  const known = storages.filter((kept) => kept.hasAll(`1 ${path}`, [LAST]));
  expect(known.length).toBeGreaterThan(4);
  expect(known.length).toBeLessThan(25);
  expect(known.at(-1)).toBe(storages.at(-1));
});
