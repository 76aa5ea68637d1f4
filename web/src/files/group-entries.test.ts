import { expect, it } from 'vitest';
import { letterOf } from './first-letter.ts';
import { type Arrangement, arrangeEntries, lastUpTo } from './group-entries.ts';
import type { Entry } from './sort-entries.ts';

const entry = (name: string, size = 0, modified = '2026-01-01T12:00:00Z', is_dir = false): Entry => ({
  ...{ name, size, modified, is_dir, created: modified, sign: '', thumb: '', type: 0, hashinfo: 'null', hash_info: null },
});
const entries = [
  entry('b10.txt', 5, '2026-03-01T12:00:00Z'),
  entry('Äpfel.png', 900_000, '2026-02-28T12:00:00Z'),
  entry('a.txt', 150_000, '2026-03-01T13:00:00Z'),
  entry('7.mp3', 0, '2025-12-31T12:00:00Z'),
  entry('zoo', 0, '2026-02-27T12:00:00Z', true),
  entry('_', 2_000_000_000, '0001-01-01T00:00:00Z'),
];
const arranged = async (grouping: Arrangement['grouping'], by: Arrangement['order']['by'] = 'name', isDescending = false) => {
  const { entries: sorted, groups } = await arrangeEntries(entries, { order: { by, isDescending }, grouping });
  return groups.map(({ key, first, count }) => [key, ...sorted.slice(first, first + count).map(({ name }) => name)].join(' '));
};

it('kinds stand in one order, folders first, whatever entries are sorted by', async () => {
  const kinds = ['folder zoo', 'image Äpfel.png', 'audio 7.mp3', 'text a.txt b10.txt', 'file _'];
  expect(await arranged('kind')).toEqual(kinds);
  expect(await arranged('kind', 'size', true)).toEqual(kinds);
});

it('what was changed last stands first, unless the oldest is asked for; unknown times are a group', async () => {
  const days = ['20260301 a.txt b10.txt', '20260228 Äpfel.png', '20260227 zoo', '20251231 7.mp3', '0 _'];
  expect(await arranged('day')).toEqual(days);
  expect(await arranged('day', 'modified', true)).toEqual(days);
  expect(await arranged('day', 'modified')).toEqual([...days.slice(1).toReversed(), '20260301 b10.txt a.txt']);
  expect(await arranged('month')).toEqual(['20260301 a.txt b10.txt', '20260201 zoo Äpfel.png', '20251201 7.mp3', '0 _']);
  // Sunday the first of March ends a week in Europe, and begins one in America.
  expect((await arranged('week')).length).toBeLessThan(5);
});

it('letters are one group with and without marks; digits and signs come first', async () => {
  expect(await arranged('letter')).toEqual(['# _', '0 7.mp3', 'A a.txt Äpfel.png', 'B b10.txt', 'Z zoo']);
  expect(await arranged('letter', 'name', true)).toEqual(['Z zoo', 'B b10.txt', 'A Äpfel.png a.txt', '0 7.mp3', '# _']);
});

it('sizes are bands; folders have none', async () => {
  expect(await arranged('size')).toEqual(['-1 zoo', '0 7.mp3', '1 b10.txt', '2 a.txt Äpfel.png', '6 _']);
});

it.each([
  ...[
    ['阿姨', 'A'],
    ['北京', 'B'],
    ['中文', 'Z'],
    ['上海', 'S'],
    ['成都', 'C'],
    ['西安', 'X'],
  ],
  ...[
    ['Ж', 'Ж'],
    ['ё', 'Е'],
    ['٣', '0'],
    ['😀', '#'],
    ['', '#'],
  ],
])('%j is found below %j', (name, letter) => expect(letterOf(name)).toBe(letter));

it('not grouped, they are sorted alone', async () => {
  const { entries: sorted, groups } = await arrangeEntries(entries, { order: { by: 'name', isDescending: false }, grouping: 'none' });
  expect([sorted[0]?.name, sorted.length, groups]).toEqual(['zoo', 6, []]);
});

it('the work between two pauses does not grow with the folder', async () => {
  const longest = async (count: number) => {
    let looks = 0;
    let most = 0;
    const many = Array.from({ length: count }, (_, index) => {
      const plain = entry(`file ${index}`, 0, new Date(Date.UTC(2020, 0, 1 + (index % 900))).toISOString());
      return {
        ...plain,
        get name() {
          looks += 1;
          return plain.name;
        },
      };
    });
    await arrangeEntries(many, { order: { by: 'name', isDescending: true }, grouping: 'day' }, async () => {
      most = Math.max(most, looks);
      looks = 0;
    });
    return Math.max(most, looks);
  };
  expect(await longest(40_000)).toBeLessThan(1.5 * (await longest(4_000)));
});

it('a place is found between others', () => {
  const of = (value: number) => value;
  expect([-1, 0, 4, 5, 99].map((value) => lastUpTo([0, 5, 9], value, of))).toEqual([0, 0, 0, 1, 2]);
  expect(lastUpTo([], 3, of)).toBe(0);
});
