import { expect, it } from 'vitest';
import { changedHostKey, formatHostKey, hostKeyOf, parseHostKey } from './host-key.ts';

/** Made with ssh-keygen, which says the fingerprint. */
const LINE = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHVuJ0rXJ0eYtB1cDWbV0uQlmFyQZc0Q0cYy7jB0m2Ya';
const blob = Buffer.from(LINE.split(' ')[1] ?? '', 'base64');
const key = hostKeyOf(blob);

it('a key is known by its type and the digest of all of it', () => {
  expect(key.type).toBe('ssh-ed25519');
  expect(key.fingerprint).toMatch(/^SHA256:[A-Za-z0-9+/]{43}$/);
});

it.each([
  ['what is kept', formatHostKey(key), key],
  ['a bare fingerprint', key.fingerprint, { type: undefined, fingerprint: key.fingerprint }],
  ['what ssh-keygen -l says', `256 ${key.fingerprint} files.example.org (ED25519)`, { type: undefined, fingerprint: key.fingerprint }],
  ['the line of a public key', `${LINE} root@files`, key],
  ['a line of known_hosts', `files.example.org,192.0.2.1 ${LINE}\n`, key],
  ['nothing', ' \n', undefined],
])('%s is read', (_what, text, expected) => expect(parseHostKey(text)).toEqual(expected));

it.each(['ssh-ed25519', 'SHA256:short', `${key.fingerprint}x`, 'MD5:aa:bb', 'yes'])('%s is no key', (text) => {
  expect(() => parseHostKey(text)).toThrow(/host_key is neither/);
});

it.each([Buffer.alloc(0), Buffer.from([0, 0]), Buffer.from([255, 255, 255, 255, 1])])('a key of a few bytes is another key', (odd) => {
  expect(hostKeyOf(odd).fingerprint).not.toBe(key.fingerprint);
});

it('a changed key is refused with both fingerprints and what to do', () => {
  const other = hostKeyOf(Buffer.from('other'));
  const error = changedHostKey('files:22', key, other);
  expect(error.code).toBe('STORAGE_LOGIN_FAILED');
  for (const part of ['files:22', key.fingerprint, other.fingerprint, 'host_key']) expect(error.message).toContain(part);
});
