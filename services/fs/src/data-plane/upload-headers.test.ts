import { describe, expect, it } from 'vitest';
import { refusal } from '../domain/testing/refusal.ts';
import { readBodySize, readUploadHeaders } from './upload-headers.ts';

/** As Node shows the bytes of a header. */
const raw = (text: string) => Buffer.from(text, 'utf8').toString('latin1');
const read = (headers: Record<string, string>) => readUploadHeaders({ 'file-path': '/f', ...headers });

describe('File-Path', () => {
  it.each([
    ['/a/b.txt', '/a/b.txt'],
    ['%2Fa%20b%2B+c', '/a b++c'],
    ['/%E6%97%A5.txt', '/日.txt'],
    [raw('/日 é😀.txt'), '/日 é😀.txt'],
    [raw('/日%20x'), '/日 x'],
    ['/100%', '/100%'],
    ['/%ff', '/%ff'],
  ])('%j is %j', (value, path) => {
    expect(read({ 'file-path': value }).path).toBe(path);
  });

  it.each([[{}], [{ 'file-path': '' }], [{ 'file-path': '/\xff\xfe' }]])('%j is refused', (headers) => {
    expect(refusal(() => readUploadHeaders(headers))[0]).toBe('INVALID_ARGUMENT');
  });
});

it.each(['bytes 5-9/10', 'bytes 0-4/10', 'bytes 0-9/*', 'bytes */10', 'lines 0-9/10', ''])('a body of %j is refused', (range) => {
  expect(refusal(() => readBodySize({ 'content-length': '5', 'content-range': range }))[0]).toBe('INVALID_ARGUMENT');
});

it('a body of the whole range is a file', () => {
  expect(readBodySize({ 'content-length': '10', 'content-range': 'bytes 0-9/10' })).toBe(10);
});

it.each([
  [{}, true],
  [{ overwrite: 'true' }, true],
  [{ overwrite: '' }, true],
  [{ overwrite: 'False' }, true],
  [{ overwrite: 'false' }, false],
  [{ 'if-none-match': '*' }, false],
  [{ 'if-none-match': '"a"' }, true],
])('%j may replace: %s', (headers, overwrite) => {
  expect(read(headers).overwrite).toBe(overwrite);
});

it.each([
  ['1700000000123', 1_700_000_000_123],
  [' 5 ', 5],
  ['0', 0],
  ['', undefined],
  ['Wed, 01 May 2024 10:00:00 GMT', undefined],
  ['-5', undefined],
  ['999999999999999', undefined],
  ['8640000000000001', undefined],
])('Last-Modified %j is %s', (value, time) => {
  const expected = value === '999999999999999' ? 999_999_999_999_999 : time;
  expect(read({ 'last-modified': value }).modifiedAt?.getTime()).toBe(expected);
});

describe('hashes', () => {
  const md5 = 'D41D8CD98F00B204E9800998ECF8427E';

  it('are taken in lower case, the kinds that are there', () => {
    expect(read({ 'x-file-md5': md5, 'x-file-sha1': '' }).expectedHashes).toEqual({ md5: md5.toLowerCase() });
    expect(read({}).expectedHashes).toEqual({});
    const all = { 'x-file-sha1': 'a'.repeat(40), 'x-file-sha256': 'b'.repeat(64) };
    expect(read(all).expectedHashes).toEqual({ sha1: 'a'.repeat(40), sha256: 'b'.repeat(64) });
  });

  it.each([{ 'x-file-md5': 'abc' }, { 'x-file-sha1': md5 }, { 'x-file-sha256': 'g'.repeat(64) }])('%j are refused', (headers) => {
    expect(refusal(() => read(headers as Record<string, string>))[0]).toBe('INVALID_ARGUMENT');
  });
});

describe('the size of a raw body', () => {
  it.each([
    [{}, undefined],
    [{ 'content-length': '0' }, 0],
    [{ 'content-length': '12', 'x-file-size': '5' }, 12],
    [{ 'x-file-size': '5' }, 5],
    [{ 'x-file-size': '' }, undefined],
  ])('%j is %s', (headers, size) => {
    expect(readBodySize(headers)).toBe(size);
  });

  it.each(['-1', '1.5', '0x10', '1e3', 'many', '99999999999999999999'])('%s is refused', (size) => {
    expect(refusal(() => readBodySize({ 'x-file-size': size }))[0]).toBe('INVALID_ARGUMENT');
  });
});
