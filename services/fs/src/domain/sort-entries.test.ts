import { type EntryName, parseEntryName } from '@wharf/paths';
import { describe, expect, it } from 'vitest';
import type { Entry } from '../driver-contract/storage-driver.ts';
import { sortEntries, sortNamesBy } from './sort-entries.ts';

const entry = (name: string, sizeBytes: number, day: number, isDirectory = false): Entry => ({
  name: parseEntryName(name),
  sizeBytes,
  isDirectory,
  modifiedAt: new Date(2024, 0, day),
});
const entries = [entry('b10', 1, 3), entry('dir2', 0, 1, true), entry('b9', 5, 2), entry('dir1', 0, 4, true), entry('a', 5, 2)];
const order = (by: string, isDescending = false, folders = '') => ({ by, isDescending, folders });
const sorted = (...options: Parameters<typeof order>) => sortEntries(order(...options), entries).map(({ name }) => name);

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
  ])('by %j, descending %j, folders %j', (by, isDescending, folders, names) => {
    expect(sorted(by, isDescending, folders)).toEqual(names);
  });

  it('are sorted in a copy', () => {
    const before = [...entries];
    sortEntries(order('name', false, 'front'), entries);
    expect(entries).toEqual(before);
  });
});

it('names are sorted as entries are', () => {
  const names = entries.map(({ name }) => name);
  const isDirectory = (name: EntryName) => name.startsWith('dir');
  for (const folders of ['', 'front', 'back'])
    for (const isDescending of [false, true])
      expect(sortNamesBy(order('name', isDescending, folders), names, isDirectory)).toEqual(sorted('name', isDescending, folders));
});
