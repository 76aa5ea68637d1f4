import { expect, it } from 'vitest';
import { isSameState } from './validator.ts';

const NONE = { etag: '', lastModified: '' };
const [ETAG, DATE] = [
  { etag: '"one"', lastModified: '' },
  { etag: '', lastModified: 'Sun, 22 Nov 2026 19:00:00 GMT' },
];

it.each([
  ['the same ETag, weak or not', ETAG, { ...ETAG, etag: 'W/"one"' }, true],
  ['another ETag, whatever the date', { ...DATE, ...ETAG, lastModified: 'x' }, { etag: '"two"', lastModified: 'x' }, false],
  ['the same ETag, whatever the date', { ...ETAG, lastModified: 'x' }, { ...ETAG, lastModified: 'y' }, true],
  ['the same date', DATE, DATE, true],
  ['the same date, where one has an ETag as well', { ...DATE, etag: '"one"' }, DATE, true],
  ['another date', DATE, { ...DATE, lastModified: 'x' }, false],
  ['an ETag, and then a date alone', ETAG, DATE, false],
  ['a date, and then an ETag alone', DATE, ETAG, false],
  ['an answer that says nothing', ETAG, NONE, true],
  ['one that said nothing', NONE, DATE, true],
])('%s', (_title, before, now, isSame) => {
  expect(isSameState(before, now)).toBe(isSame);
});
