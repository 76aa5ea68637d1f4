import { describe, expect, it } from 'vitest';
import { nameCodec } from './name-codec.ts';

const latin1 = (bytes: Uint8Array) => Buffer.from(bytes).toString('latin1');

describe('names in the character set of a server', () => {
  it.each([
    ['utf-8', 'caf\u00e9 \u6587\u4ef6 \u{1f600}', 'caf\xc3\xa9 \xe6\x96\x87\xe4\xbb\xb6 \xf0\x9f\x98\x80'],
    ['UTF8', '\ufeffmark', '\xef\xbb\xbfmark'],
    ['gbk', '\u6587\u4ef6', '\xce\xc4\xbc\xfe'],
    ['windows-1252', 'caf\u00e9', 'caf\xe9'],
    ['shift_jis', '\u6587', '\x95\xb6'],
  ])('%s says %s, and back', (encoding, name, bytes) => {
    const codec = nameCodec(encoding);
    expect(latin1(codec.toBytes(name))).toBe(bytes);
    expect(codec.fromBytes(bytes)).toBe(name);
  });

  it.each([
    ['gbk', '\u{1f600}'],
    ['windows-1252', '\u6587'],
    ['windows-1252', '\u00ff'],
    ['utf-8', '\ud800'],
    ['utf-8', 'a\r\nDELE b'],
    ['utf-8', 'a\nb'],
    ['utf-8', 'a\0b'],
  ])('%s does not say %j', (encoding, name) => {
    expect(() => nameCodec(encoding).toBytes(name)).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT' }));
  });

  it('has no name for bytes that it would write otherwise', () => {
    expect(nameCodec('utf-8').fromBytes('\xff\xfe')).toBeUndefined();
    expect(nameCodec('utf-8').fromBytes('\xc0\xaf')).toBeUndefined();
  });

  it.each(['klingon', 'utf-16', ''])('%s is refused', (encoding) => {
    expect(() => nameCodec(encoding)).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT' }));
  });
});
