import type { EntryName } from '@wharf/paths';
import { describe, expect, it } from 'vitest';
import { etagOf } from '../domain/reading/etag.ts';
import { evaluatePreconditions, isRangeCurrent } from './preconditions.ts';

const TAG = '"abc"';
/** Half a second behind the second that dates can say. */
const modifiedAt = new Date('2024-05-01T10:00:00.500Z');
const at = 'Wed, 01 May 2024 10:00:00 GMT';
const before = 'Wed, 01 May 2024 09:59:59 GMT';
const after = 'Wed, 01 May 2024 10:00:01 GMT';

// RFC 9110 section 13.2.2, step by step.
it.each([
  ['nothing', {}, 'proceed'],
  ['If-Match, the tag', { 'if-match': TAG }, 'proceed'],
  ['If-Match, one of several', { 'if-match': `"x", ${TAG}` }, 'proceed'],
  ['If-Match, any', { 'if-match': ' * ' }, 'proceed'],
  ['If-Match, another', { 'if-match': '"x"' }, 'failed'],
  ['If-Match, the tag but weak', { 'if-match': `W/${TAG}` }, 'failed'],
  ['If-Match without quotes', { 'if-match': 'abc' }, 'failed'],
  ['If-Match before If-Unmodified-Since', { 'if-match': TAG, 'if-unmodified-since': before }, 'proceed'],
  ['If-Unmodified-Since, that second', { 'if-unmodified-since': at }, 'proceed'],
  ['If-Unmodified-Since, later', { 'if-unmodified-since': after }, 'proceed'],
  ['If-Unmodified-Since, earlier', { 'if-unmodified-since': before }, 'failed'],
  ['If-Unmodified-Since, no date', { 'if-unmodified-since': '0' }, 'proceed'],
  ['If-None-Match, the tag', { 'if-none-match': TAG }, 'not-modified'],
  ['If-None-Match, the tag but weak', { 'if-none-match': `"x", W/${TAG}` }, 'not-modified'],
  ['If-None-Match, any', { 'if-none-match': '*' }, 'not-modified'],
  ['If-None-Match, another', { 'if-none-match': '"x"' }, 'proceed'],
  ['If-None-Match before If-Modified-Since', { 'if-none-match': '"x"', 'if-modified-since': after }, 'proceed'],
  ['If-Modified-Since, that second', { 'if-modified-since': at }, 'not-modified'],
  ['If-Modified-Since, later', { 'if-modified-since': after }, 'not-modified'],
  ['If-Modified-Since, earlier', { 'if-modified-since': before }, 'proceed'],
  ['If-Modified-Since, the older form of a date', { 'if-modified-since': 'Wednesday, 01-May-24 10:00:00 GMT' }, 'not-modified'],
  ['If-Modified-Since, the oldest form of a date', { 'if-modified-since': 'Wed May  1 10:00:00 2024' }, 'not-modified'],
  ['If-Modified-Since, a number', { 'if-modified-since': '3000' }, 'proceed'],
  ['If-Modified-Since, rubbish', { 'if-modified-since': 'Wed, soon' }, 'proceed'],
  ['If-Match that holds, then If-None-Match', { 'if-match': TAG, 'if-none-match': TAG }, 'not-modified'],
  ['If-Match that fails, before If-None-Match', { 'if-match': '"x"', 'if-none-match': TAG }, 'failed'],
])('%s', (_what, headers, verdict) => {
  expect(evaluatePreconditions(headers, TAG, modifiedAt)).toBe(verdict);
});

it('a date that nobody knows says nothing: of a file with a version it is as old as ever', () => {
  const unknown = new Date(0);
  expect(evaluatePreconditions({ 'if-modified-since': unknown.toUTCString() }, TAG, unknown)).toBe('proceed');
  expect(evaluatePreconditions({ 'if-none-match': TAG }, TAG, unknown)).toBe('not-modified');
  expect(isRangeCurrent(unknown.toUTCString(), TAG, unknown)).toBe(false);
  expect(isRangeCurrent(TAG, TAG, unknown)).toBe(true);
});

describe('If-Range', () => {
  it.each([
    [undefined, true],
    [TAG, true],
    ['"x"', false],
    [`W/${TAG}`, false],
    [at, true],
    [before, false],
    [after, false],
    ['rubbish', false],
    ['', false],
  ])('%j lets the range hold: %s', (ifRange, isCurrent) => {
    expect(isRangeCurrent(ifRange, TAG, modifiedAt)).toBe(isCurrent);
  });
});

it('a version that has a comma, as ETags of WebDAV servers may, makes a tag that lists of tags can have', () => {
  const entry = { name: 'f' as EntryName, isDirectory: false, sizeBytes: 1, modifiedAt };
  const [tag, other] = ['1,2', '12'].map((version) => etagOf({ ...entry, version }));
  expect(new Set(['é', 'è', '', 'v', 'v ', '%C3%A9'].map((version) => etagOf({ ...entry, version })).concat(tag, other)).size).toBe(8);
  expect(tag).not.toBe(other);
  expect(evaluatePreconditions({ 'if-match': `"x", ${tag}` }, tag, modifiedAt)).toBe('proceed');
  expect(evaluatePreconditions({ 'if-none-match': tag }, tag, modifiedAt)).toBe('not-modified');
  expect(evaluatePreconditions({ 'if-match': other }, tag, modifiedAt)).toBe('failed');
});
