import { describe, expect, it } from 'vitest';
import { chooseFileName, safeName } from './file-name.ts';

const nameOf = (disposition: string | undefined, url = 'https://files.example/a/from-url.bin?x=1') =>
  chooseFileName({ url: new URL(url), disposition }, 1_700_000_000_000);

describe('the name of a fetched file (C4)', () => {
  it.each([
    ['attachment; filename="report 1.pdf"', 'report 1.pdf'],
    ["attachment; filename=plain.txt; filename*=UTF-8''%e4%bd%a0%e5%a5%bd.txt", '你好.txt'],
    [Buffer.from('attachment; filename="grün.txt"').toString('latin1'), 'grün.txt'],
    ['attachment; filename="gr\u00fcn.txt"', 'grün.txt'],
    ['inline; filename="../../etc/passwd"', 'passwd'],
    ['attachment; filename="C:\\\\Windows\\\\evil.exe"', 'evil.exe'],
    ['attachment; filename="a\u0000b\u0007.txt"', 'ab.txt'],
    ['attachment; filename="CON.txt"', '_CON.txt'],
    ['attachment; filename=".."', 'from-url.bin'],
    ['attachment; filename="a/.."', 'from-url.bin'],
    ['attachment; filename=""', 'from-url.bin'],
    ['attachment', 'from-url.bin'],
    ['; ; ;', 'from-url.bin'],
    [undefined, 'from-url.bin'],
  ])('%s is %s', (disposition, name) => {
    expect(nameOf(disposition)).toBe(name);
  });

  it('comes from the last segment of the address, decoded once', () => {
    expect(nameOf(undefined, 'https://x.example/a%20b%2Fc.iso/')).toBe('c.iso');
    expect(nameOf(undefined, 'https://x.example/%252e%252e')).toBe('%2e%2e');
    expect(nameOf(undefined, 'https://x.example/bad%zz')).toBe('bad%zz');
  });

  it('is made up where nobody says one', () => {
    expect(nameOf(undefined, 'https://x.example/')).toMatch(/^x\.example-1700000000000-[0-9a-f]{8}$/);
    expect(nameOf(undefined, 'https://x.example/%2e%2e%2f')).toMatch(/^x\.example-/);
  });

  it('is shortened before its extension, in whole characters', () => {
    const long = safeName(`${'ü'.repeat(70_000)}.tar`) ?? '';
    expect(long.endsWith('ü.tar')).toBe(true);
    expect(Buffer.byteLength(long)).toBeLessThanOrEqual(255);
    expect(Buffer.byteLength(safeName('x'.repeat(65_536)) ?? '')).toBe(255);
  });
});
