import { describe, expect, it } from 'vitest';
import { parseFacts, parseListLine, toTimeVal } from './listing.ts';
import { nameCodec } from './name-codec.ts';

const UTF8 = nameCodec('utf-8');
const NOW = Date.parse('2026-11-23T07:16:30Z');
const bytes = (text: string) => Buffer.from(text).toString('latin1');

describe('a line of LIST', () => {
  it.each<[line: string, name: string, kind: string, sizeBytes: number, modified: string]>([
    ['-rw-r--r--    1 59999    59999           5 Nov 23 07:16 a', 'a', 'file', 5, '2026-11-23T07:16:00Z'],
    [
      '-rw-r--r--    1 59999    59999           5 Nov 23 07:16  leads with a space',
      ' leads with a space',
      'file',
      5,
      '2026-11-23T07:16:00Z',
    ],
    ['-rw-r--r--    1 0        0               5 Nov 23 07:16 trails ', 'trails ', 'file', 5, '2026-11-23T07:16:00Z'],
    ['drwxr-xr-x   2 keeper   users        4096 Feb 29  2024 leap', 'leap', 'folder', 0, '2024-02-29T00:00:00Z'],
    // Without a year: the last one that it can be, and a day ahead for clocks and zones.
    ['-rw-r--r-- 1 u g 5 Nov 24 07:00 tomorrow', 'tomorrow', 'file', 5, '2026-11-24T07:00:00Z'],
    ['-rw-r--r-- 1 u g 5 Nov 25 07:16 last year', 'last year', 'file', 5, '2025-11-25T07:16:00Z'],
    ['-rw-r--r-- 1 u g 5 Feb 29 10:00 leap without year', 'leap without year', 'file', 5, '2024-02-29T10:00:00Z'],
    ['-rw-r--r-- 1 u 5 Jan  1 00:00 no group', 'no group', 'file', 5, '2026-01-01T00:00:00Z'],
    ['-rw-r--r-- 1 u g 5 2026-11-23 07:16 iso', 'iso', 'file', 5, '2026-11-23T07:16:00Z'],
    ['-rw-r--r--+ 1 u g 9007199254740993 Nov 23 07:16 too big', 'too big', 'file', 0, '2026-11-23T07:16:00Z'],
    ['lrwxrwxrwx 1 u g 5 Nov 23 07:16 link -> ../elsewhere', 'link', 'link', 0, '2026-11-23T07:16:00Z'],
    ['crw-rw-rw- 1 root root 1, 3 Nov 23 07:16 null', 'null', 'other', 0, '2026-11-23T07:16:00Z'],
    ['-rw-r--r-- 1 u g 5 Nov 23 07:16 caf\u00e9', 'caf\u00e9', 'file', 5, '2026-11-23T07:16:00Z'],
    ['11-23-26  07:16AM       <DIR>          My Folder', 'My Folder', 'folder', 0, '2026-11-23T07:16:00Z'],
    ['11-23-2026  12:05AM              1234 file.txt', 'file.txt', 'file', 1234, '2026-11-23T00:05:00Z'],
    ['01-02-99  11:59PM              1234 old', 'old', 'file', 1234, '1999-01-02T23:59:00Z'],
    ['11-23-26  19:16              7 24 hours', '24 hours', 'file', 7, '2026-11-23T19:16:00Z'],
  ])('%s', (line, name, kind, sizeBytes, modified) => {
    expect(parseListLine(bytes(line), UTF8, NOW)).toEqual({ name, kind, sizeBytes, modifiedMs: Date.parse(modified), unique: undefined });
  });

  it.each([
    'total 12',
    '',
    'drwxr-xr-x 2 u g 4096 Nov 23 07:16 .',
    'drwxr-xr-x 2 u g 4096 Nov 23 07:16 ..',
    '11-23-26  07:16AM       <DIR>          ..',
    'something else altogether',
    '-rw-r--r-- 1 u g 5 Nov 23 07:16',
  ])('%j is no entry', (line) => {
    expect(parseListLine(line, UTF8, NOW)).toBeUndefined();
  });

  it('with bytes that are no text in the character set is no entry', () => {
    expect(parseListLine('-rw-r--r-- 1 u g 5 Nov 23 07:16 \xff\xfe', UTF8, NOW)).toBeUndefined();
  });

  it('takes no longer for a line that is made to be slow', () => {
    const began = performance.now();
    for (const line of [`-rwxrwxrwx ${'1 '.repeat(30_000)}`, `11-23-26 07:16AM ${' '.repeat(60_000)}`, `drwxr-xr-x${' '.repeat(60_000)}`]) {
      expect(parseListLine(line, UTF8, NOW)).toBeUndefined();
    }
    expect(performance.now() - began).toBeLessThan(2_000);
  });
});

describe('a line of MLSD', () => {
  it('has facts in any order and case, and a name that may begin with a space', () => {
    const facts = 'Modify=20210304050607.123;perm=adfrw;Size=5;TYPE=file;unique=FE00U98;UNIX.mode=0644;';
    const modifiedMs = Date.parse('2021-03-04T05:06:07Z');
    expect(parseFacts(`${facts}  lead`, UTF8)).toEqual({ name: ' lead', kind: 'file', sizeBytes: 5, modifiedMs, unique: 'FE00U98' });
    expect(parseFacts('type=dir;modify=20210304050607; d', UTF8)).toMatchObject({ name: 'd', kind: 'folder', sizeBytes: 0 });
    expect(parseFacts('type=OS.unix=slink:/etc;size=5; l', UTF8)).toMatchObject({ name: 'l', kind: 'link' });
    expect(parseFacts('type=OS.unix=chr-13/29; c', UTF8)).toMatchObject({ name: 'c', kind: 'other' });
  });

  it.each(['type=cdir; .', 'type=pdir; ..', 'no name', 'type=file; \xff'])('%j is no entry', (line) => {
    expect(parseFacts(line, UTF8)).toBeUndefined();
  });

  it.each(['type=cdir; /', 'type=pdir;modify=20210304050607; /'])('%j is a folder where that alone was asked for', (line) => {
    expect(parseFacts(line, UTF8, true)).toMatchObject({ kind: 'folder', sizeBytes: 0 });
  });

  it('has times in UTC, to the second', () => {
    expect(toTimeVal(new Date('2021-03-04T05:06:07.891Z'))).toBe('20210304050607');
    for (const text of ['', 'yesterday', '2021']) expect(parseFacts(`type=file;modify=${text}; a`, UTF8)?.modifiedMs).toBe(0);
  });
});
