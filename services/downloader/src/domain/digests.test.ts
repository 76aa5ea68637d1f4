import { createHash } from 'node:crypto';
import { expect, it } from 'vitest';
import { parseDigests, readDigests } from './digests.ts';

const hash = (algorithm: string, encoding: 'hex' | 'base64') => createHash(algorithm).update('x').digest(encoding);

it('digests are read from every header that carries one of the whole file', () => {
  expect(readDigests({ 'repr-digest': `sha-256=:${hash('sha256', 'base64')}:, sha-512=:${hash('sha512', 'base64')}:` }, false)).toEqual({
    sha256: hash('sha256', 'hex'),
    sha512: hash('sha512', 'hex'),
  });
  expect(readDigests({ digest: `SHA=${hash('sha1', 'base64')},md5=${hash('md5', 'base64')}` }, false)).toEqual({
    sha1: hash('sha1', 'hex'),
    md5: hash('md5', 'hex'),
  });
});

it('a digest of the body counts only where the body is the whole file', () => {
  const headers = { 'content-md5': hash('md5', 'base64'), 'content-digest': `sha-256=:${hash('sha256', 'base64')}:` };
  expect(readDigests(headers, false)).toEqual({});
  expect(Object.keys(readDigests(headers, true))).toEqual(['sha256', 'md5']);
});

it('what cannot be read is passed over', () => {
  expect(readDigests({ 'repr-digest': `unknown=:YQ==:;q=1, sha-256=:${hash('sha256', 'base64')}:;q=2` }, false)).toEqual({
    sha256: hash('sha256', 'hex'),
  });
  expect(readDigests({ 'repr-digest': 'a'.repeat(1_000_000) }, false)).toEqual({});
  expect(readDigests({ digest: 'sha-256=zzz, unixsum=30637', 'repr-digest': 'sha-256=abc', 'content-md5': 'short' }, true)).toEqual({});
});

it('takes what a caller gives in hexadecimal, and nothing that is no hash', () => {
  expect(parseDigests({ md5: ` ${'A'.repeat(32)} `, sha1: '', sha256: 'b'.repeat(64) })).toEqual({
    md5: 'a'.repeat(32),
    sha256: 'b'.repeat(64),
  });
  for (const given of [{ md5: 'a'.repeat(31) }, { sha1: 'g'.repeat(40) }, { crc: '00' }])
    expect(() => parseDigests(given)).toThrow('this is no hash of');
});
