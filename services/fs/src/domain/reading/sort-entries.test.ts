import { type EntryName, parseEntryName } from '@wharf/paths';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { EntryHead } from '../../driver-contract/entry-map.ts';
import { sortEntries, sortNamesBy } from './sort-entries.ts';

const entry = (name: string, sizeBytes: number, day: number, isDirectory = false): EntryHead => ({
  name: parseEntryName(name),
  sizeBytes,
  isDirectory,
  modifiedMs: Date.UTC(2024, 0, day),
});
const entries = [entry('b10', 1, 3), entry('dir2', 0, 1, true), entry('b9', 5, 2), entry('dir1', 0, 4, true), entry('a', 5, 2)];
const order = (by: string, isDescending = false, folders = '') => ({ by, isDescending, folders });
const pace = { step: async () => {} };
const sorted = async (...options: Parameters<typeof order>) =>
  (await sortEntries(order(...options), entries, pace)).map(({ name }) => name);

describe('entries', () => {
  it.each([
    ['', false, '', ['b10', 'dir2', 'b9', 'dir1', 'a']],
    ['whatever', true, '', ['b10', 'dir2', 'b9', 'dir1', 'a']],
    ['name', false, '', ['a', 'b9', 'b10', 'dir1', 'dir2']],
    ['name', true, '', ['dir2', 'dir1', 'b10', 'b9', 'a']],
    ['size', false, '', ['dir2', 'dir1', 'b10', 'b9', 'a']],
    ['size', true, '', ['b9', 'a', 'b10', 'dir2', 'dir1']],
    ['modified', false, '', ['dir2', 'b9', 'a', 'b10', 'dir1']],
    ['', false, 'front', ['dir2', 'dir1', 'b10', 'b9', 'a']],
    ['name', true, 'back', ['b10', 'b9', 'a', 'dir2', 'dir1']],
    ['name', false, 'sideways', ['a', 'b9', 'b10', 'dir1', 'dir2']],
  ])('by %j, descending %j, folders %j', async (by, isDescending, folders, names) => {
    expect(await sorted(by, isDescending, folders)).toEqual(names);
  });

  it('are sorted in a copy', async () => {
    const before = [...entries];
    await sortEntries(order('name', false, 'front'), entries, pace);
    expect(entries).toEqual(before);
  });
});

it('names are sorted as entries are', async () => {
  const names = entries.map(({ name }) => name);
  const isDirectory = (name: EntryName) => name.startsWith('dir');
  for (const folders of ['', 'front', 'back'])
    for (const isDescending of [false, true])
      expect(await sortNamesBy(order('name', isDescending, folders), names, isDirectory, pace)).toEqual(
        await sorted('name', isDescending, folders),
      );
});

const sizeOf = ({ sizeBytes = 0 }: EntryHead) => sizeBytes;

it('a long list is sorted as by the platform, equal entries in the order of the driver', async () => {
  const sizes = fc.array(fc.integer({ min: 0, max: 50 }), { maxLength: 5_000, size: 'max' });
  await fc.assert(
    fc.asyncProperty(sizes, fc.boolean(), async (each, isDescending) => {
      const many = each.map((size, index) => entry(`n${index}`, size, 1));
      const expected = many.toSorted((left, right) => (isDescending ? sizeOf(right) - sizeOf(left) : sizeOf(left) - sizeOf(right)));
      expect(await sortEntries(order('size', isDescending), many, pace)).toEqual(expected);
    }),
    { numRuns: 30 },
  );
});

it.each([15_000, 30_000, 60_000])('others get a turn while %i names are sorted', async (count) => {
  let steps = 0;
  const names = Array.from({ length: count }, (_, index) => `n${(index * 7919) % count}` as EntryName);
  const step = async () => {
    steps += 1;
  };
  await sortNamesBy(order('name'), names, () => false, { step });
  // Every thousand names of every round of merging.
  expect(steps).toBeGreaterThanOrEqual((count / 1_000) * Math.ceil(Math.log2(count / 1_000)));
});

it('folders are put apart with room for others', async () => {
  const names = Array.from({ length: 1_000 }, (_, index) => parseEntryName(`${index}`));
  let steps = 0;
  const counted = {
    async step() {
      steps += 1;
    },
  };
  const apart = await sortNamesBy(order('', false, 'front'), names, (name) => name.endsWith('7'), counted);
  expect(apart.slice(0, 2)).toEqual(['7', '17']);
  expect(steps).toBe(names.length);
});
