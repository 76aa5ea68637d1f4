import { expect, it } from 'vitest';
import { webdavConfigSchema, webdavSettings } from './config.ts';
import { webdavDriver } from './index.ts';

const PLAIN = JSON.parse(
  webdavDriver.normaliseAddition(
    JSON.stringify({ address: 'cloud.example.org/dav/', username: 'u', password: 'p', root_folder_path: '/' }),
  ),
);
const settingsOf = (items: Record<string, unknown> = {}) => webdavSettings(webdavConfigSchema.parse({ ...PLAIN, ...items }));

it('the items are the family’s in their order, with ours at the end, and the password is sealed', () => {
  expect(webdavDriver.items.map(({ name }) => name)).toEqual([
    ...['vendor', 'address', 'username', 'password', 'root_folder_path', 'tls_insecure_skip_verify'],
    ...['redirect_hosts', 'tls_certificate'],
  ]);
  expect([...webdavDriver.secretKeys]).toEqual(['password']);
  expect(webdavDriver.items.find(({ name }) => name === 'vendor')).toMatchObject({ options: 'sharepoint,other', default: 'other' });
});

it.each([
  ['cloud.example.org/dav/', '/', 'https://cloud.example.org/dav/'],
  ['http://127.0.0.1:8080', '/a b/ä', 'http://127.0.0.1:8080/a%20b/%C3%A4/'],
  [' https://x.example/remote.php/dav/files/u// ', '/%2e', 'https://x.example/remote.php/dav/files/u/%252e/'],
])('%s and %s lead to %s', (address, root_folder_path, href) => {
  expect(settingsOf({ address, root_folder_path }).root.href).toBe(href);
});

it.each([
  { address: 'ftp://x' },
  { address: 'https://user:secret@x' },
  { address: 'https://x/?a=b' },
  { root_folder_path: '/../up' },
  { redirect_hosts: 'cdn.example.org/path' },
  { vendor: 'sharepoint' },
])('%j is refused', (items) => {
  expect(() => settingsOf(items)).toThrow();
});

it('hosts of redirects are told apart', () => {
  expect([...settingsOf({ redirect_hosts: ' CDN.example.org, b.example:8443 ,' }).redirectHosts]).toEqual([
    'cdn.example.org',
    'b.example:8443',
  ]);
});
