import { expect, it } from 'vitest';
import { type Entry, extensionOf, sortEntries } from './sort-entries.ts';

const entry = (name: string, size = 0, modified = '2026-01-01T00:00:00Z', is_dir = false): Entry => ({
  ...{ name, size, modified, is_dir, created: modified, sign: '', thumb: '', type: 0, hashinfo: 'null', hash_info: null },
});
const entries = [
  entry('b10.txt', 5, '2026-03-01T00:00:00Z'),
  entry('B2.png', 9, '2026-01-01T00:00:00Z'),
  entry('a.txt', 5, '2026-02-01T00:00:00+02:00'),
  entry('zoo', 0, '2026-01-05T00:00:00Z', true),
];
const names = (by: 'name' | 'size' | 'modified' | 'kind', isDescending = false) =>
  sortEntries(entries, { by, isDescending })
    .map(({ name }) => name)
    .join();

it('folders come first whatever the order', () => {
  expect(names('name')).toBe('zoo,a.txt,B2.png,b10.txt');
  expect(names('name', true)).toBe('zoo,b10.txt,B2.png,a.txt');
});

it('sizes, times and kinds; equal ones by name', () => {
  expect(names('size')).toBe('zoo,a.txt,b10.txt,B2.png');
  expect(names('modified')).toBe('zoo,B2.png,a.txt,b10.txt');
  expect(names('kind')).toBe('zoo,B2.png,a.txt,b10.txt');
});

it.each([
  ['a.TAR.gz', 'gz'],
  ['.bashrc', ''],
  ['none', ''],
])('the extension of %s is %j', (name, extension) => expect(extensionOf(name)).toBe(extension));
