import { expect, it } from 'vitest';
import { sftpConfigSchema, sftpSettings } from './config.ts';
import { sftpDriver } from './index.ts';

const PLAIN = {
  address: 'files.example.org',
  username: 'keeper',
  private_key: '',
  password: '',
  passphrase: '',
  root_folder_path: '/',
  ignore_symlink_error: false,
  host_key: '',
};
const settings = (items: Partial<typeof PLAIN>) => sftpSettings(sftpConfigSchema.parse({ ...PLAIN, ...items }));

it('the items of the family come in its order, then ours', () => {
  expect(sftpDriver.items.map(({ name, type, required, default: preset }) => [name, type, required, preset])).toEqual([
    ['address', 'string', true, ''],
    ['username', 'string', true, ''],
    ['private_key', 'text', false, ''],
    ['password', 'string', false, ''],
    ['passphrase', 'string', false, ''],
    ['root_folder_path', 'string', true, '/'],
    ['ignore_symlink_error', 'bool', false, 'false'],
    ['host_key', 'string', false, ''],
  ]);
  expect([...sftpDriver.secretKeys]).toEqual(['private_key', 'password', 'passphrase']);
});

it('a key that the driver keeps itself does not open the storage anew, one that an admin changes does', () => {
  const stored = (items: object) => JSON.stringify({ ...PLAIN, ...items });
  expect(sftpDriver.opensAlike(stored({}), stored({ host_key: 'SHA256:x' }))).toBe(true);
  expect(sftpDriver.opensAlike(stored({ host_key: 'SHA256:x' }), stored({ host_key: 'SHA256:y' }))).toBe(false);
  expect(sftpDriver.opensAlike(stored({ host_key: 'SHA256:x' }), stored({}))).toBe(false);
  expect(sftpDriver.opensAlike(stored({}), stored({ password: 'x' }))).toBe(false);
});

it.each([
  ['files.example.org', 'files.example.org', 22],
  ['files.example.org:2222', 'files.example.org', 2222],
  [' 192.0.2.1:22 ', '192.0.2.1', 22],
  ['[2001:db8::1]:2222', '2001:db8::1', 2222],
  ['[2001:db8::1]', '2001:db8::1', 22],
  ['2001:db8::1', '2001:db8::1', 22],
])('address %s is host %s, port %i', (address, host, port) => expect(settings({ address })).toMatchObject({ host, port }));

it.each(['files:0', 'files:65536', 'files:', 'sftp://files', 'keeper@files', 'a b', '[files]:22'])('address %s is refused', (address) => {
  expect(() => settings({ address })).toThrow('address is not a host and a port');
});

it('a key ends with the end of a line, and texts that are empty are none', () => {
  expect(settings({ private_key: ' -----BEGIN X-----\nabc ' }).privateKey).toBe('-----BEGIN X-----\nabc\n');
  expect(settings({})).toMatchObject({ privateKey: undefined, password: undefined, passphrase: undefined });
});
