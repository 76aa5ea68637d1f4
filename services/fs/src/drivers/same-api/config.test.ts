import { expect, it } from 'vitest';
import { normaliseAddition } from '../../driver-contract/config-items.ts';
import { sameApiConfigSchema, sameApiSettings } from './config.ts';
import { alistDriver, openListDriver } from './index.ts';

const settingsOf = (items: Record<string, unknown>) =>
  sameApiSettings(sameApiConfigSchema.parse(normaliseAddition(openListDriver.items, JSON.stringify({ root_folder_path: '/', ...items }))));

it('both names have the items of the family in its order, and keep secrets sealed', () => {
  for (const driver of [openListDriver, alistDriver]) {
    expect(driver.items.map(({ name }) => name)).toEqual([
      ...['root_folder_path', 'url', 'meta_password', 'username', 'password', 'token', 'pass_ip_to_upsteam', 'pass_ua_to_upsteam'],
      ...['forward_archive_requests', 'pass_refresh_flag_to_upsteam'],
    ]);
    expect([...driver.secretKeys].sort()).toEqual(['meta_password', 'password', 'token']);
  }
});

it.each([
  ['https://files.example.org', 'https://files.example.org/'],
  ['files.example.org:8443/sub/', 'https://files.example.org:8443/sub'],
  [' http://10.0.0.2:5244 ', 'http://10.0.0.2:5244/'],
])('the address %s is %s', (url, expected) => {
  expect(settingsOf({ url }).base.href).toBe(expected);
});

it.each([
  [{ url: 'ftp://x' }, 'url'],
  [{ url: 'http://u:p@x' }, 'url'],
  [{ url: 'http://x/?a=1' }, 'url'],
  [{ url: 'http://' }, 'url'],
  [{ url: 'http://x', password: 'p' }, 'username'],
  [{ url: 'http://x', root_folder_path: '/../x' }, 'root_folder_path'],
])('%j is refused by name', (items, name) => {
  expect(() => settingsOf(items)).toThrow(name);
});
