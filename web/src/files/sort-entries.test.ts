import { expect, it } from 'vitest';
import { type Entry, extensionOf, type Order, sortEntries } from './sort-entries.ts';

const entry = (name: string, size = 0, modified = '2026-01-01T00:00:00Z', is_dir = false): Entry => ({
  ...{ name, size, modified, is_dir, created: modified, sign: '', thumb: '', type: 0, hashinfo: 'null', hash_info: null },
});
const entries = [
  entry('b10.txt', 5, '2026-03-01T00:00:00Z'),
  entry('B2.png', 9, '2026-01-01T00:00:00Z'),
  entry('a.txt', 5, '2026-02-01T00:00:00+02:00'),
  entry('zoo', 0, '2026-01-05T00:00:00Z', true),
];
const names = async (by: Order['by'], isDescending = false) =>
  (await sortEntries(entries, { by, isDescending })).map(({ name }) => name).join();

it('folders come first whatever the order', async () => {
  expect(await names('name')).toBe('zoo,a.txt,B2.png,b10.txt');
  expect(await names('name', true)).toBe('zoo,b10.txt,B2.png,a.txt');
});

it('sizes and times; equal ones by name', async () => {
  expect(await names('size')).toBe('zoo,a.txt,b10.txt,B2.png');
  expect(await names('modified')).toBe('zoo,B2.png,a.txt,b10.txt');
});

it.each([
  ['a.TAR.gz', 'gz'],
  ['.bashrc', ''],
  ['none', ''],
])('the extension of %s is %j', (name, extension) => expect(extensionOf(name)).toBe(extension));

it('a long list is sorted in pieces, however long it is', async () => {
  const longest = async (count: number) => {
    const shuffled = Array.from({ length: count }, (_, index) => entry(`file ${index}`, (index * 7_919) % count));
    let looks = 0;
    let most = 0;
    const counted = shuffled.map((each) => ({
      ...each,
      get size() {
        looks += 1;
        return each.size;
      },
    }));
    const sorted = await sortEntries(counted, { by: 'size', isDescending: true }, async () => {
      most = Math.max(most, looks);
      looks = 0;
    });
    expect(sorted.map(({ name }) => name)).toEqual(shuffled.toSorted((left, right) => right.size - left.size).map(({ name }) => name));
    return Math.max(most, looks);
  };
  expect(await longest(40_000)).toBeLessThan(1.5 * (await longest(4_000)));
});
