import { expect, it } from 'vitest';
import { isSameState, provesSame } from './validator.ts';

const WEAK = 'W/"one"';
const NONE = { etag: '', lastModified: '' };
const [ETAG, DATE] = [
  { etag: '"one"', lastModified: '' },
  { etag: '', lastModified: 'Sun, 22 Nov 2026 19:00:00 GMT' },
];

it.each([
  ['the same ETag, weak or not', ETAG, { ...ETAG, etag: WEAK }, true],
  ['the same weak ETag and another date', { etag: WEAK, lastModified: 'x' }, { etag: WEAK, lastModified: 'y' }, false],
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

it.each([
  ['the same ETag', ETAG, ETAG, true],
  ['the same ETag, whatever the date', { ...ETAG, lastModified: 'x' }, { ...ETAG, lastModified: 'y' }, true],
  ['the same date', DATE, DATE, true],
  ['the same weak ETag and date', { ...DATE, etag: WEAK }, { ...DATE, etag: WEAK }, true],
  ['another weak ETag, whatever the date', { ...DATE, etag: WEAK }, { ...DATE, etag: 'W/"two"' }, false],
  ['the same weak ETag', { ...ETAG, etag: WEAK }, { ...ETAG, etag: WEAK }, false],
  ['the same ETag, weak by now', ETAG, { ...ETAG, etag: WEAK }, false],
  ['an answer that says nothing', ETAG, NONE, false],
  ['nothing at all', NONE, NONE, false],
])('proves that bytes are the same: %s', (_title, before, now, isProof) => {
  expect(provesSame(before, now)).toBe(isProof);
});
