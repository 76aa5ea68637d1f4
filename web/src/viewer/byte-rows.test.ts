import { expect, it } from 'vitest';
import { byteRows } from './byte-rows.ts';

it('shows where, what and the letters, sixteen to a row', () => {
  const bytes = Uint8Array.from({ length: 18 }, (_, index) => index + 0x3a);
  expect(byteRows(bytes, 0x1000)).toBe(
    [
      '00001000  3a 3b 3c 3d 3e 3f 40 41  42 43 44 45 46 47 48 49  :;<=>?@ABCDEFGHI',
      '00001010  4a 4b                                             JK',
    ].join('\n'),
  );
});

it('has eight to a row where there is no room for more', () =>
  expect(
    byteRows(
      Uint8Array.from({ length: 9 }, (_, index) => index + 0x41),
      0,
      8,
    ),
  ).toBe(['00000000  41 42 43 44  45 46 47 48  ABCDEFGH', `00000008  49${' '.repeat(24)}I`].join('\n')));

it('has a dot for what is no letter, and nothing for nothing', () => {
  expect(byteRows(Uint8Array.of(0, 0x7f, 0xff, 0x20), 0)).toBe(`00000000  00 7f ff 20${' '.repeat(37)}  ... `);
  expect(byteRows(new Uint8Array(), 0)).toBe('');
});
