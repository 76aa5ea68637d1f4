import { AppError } from '@wharf/errors';
import { describe, expect, it } from 'vitest';
import { s3ConfigSchema, s3Settings } from './config.ts';
import { s3Driver } from './index.ts';
import { linkUrl, objectUrl } from './object-url.ts';

const PLAIN: Record<string, string | number | boolean> = JSON.parse(
  s3Driver.normaliseAddition(
    JSON.stringify({ bucket: 'photos', endpoint: 's3.example.com', access_key_id: 'AK', secret_access_key: 'SK', root_folder_path: '/' }),
  ),
);
const settingsOf = (items: Record<string, string | number | boolean> = {}) => s3Settings(s3ConfigSchema.parse({ ...PLAIN, ...items }));

it('the items are the family’s in their order, with ours at the end, and secrets are sealed', () => {
  expect(s3Driver.items.map(({ name }) => name)).toEqual([
    ...['root_folder_path', 'bucket', 'endpoint', 'region', 'access_key_id', 'secret_access_key', 'session_token', 'custom_host'],
    ...['enable_custom_host_presign', 'sign_url_expire', 'placeholder', 'force_path_style', 'list_object_version', 'remove_bucket'],
    ...['add_filename_to_disposition', 'enable_direct_upload', 'direct_upload_host', 'user_agent'],
    ...['storage_class', 'content_md5', 'tls_insecure_skip_verify', 'tls_certificate'],
  ]);
  expect([...s3Driver.secretKeys]).toEqual(['access_key_id', 'secret_access_key', 'session_token']);
  expect(s3Driver.items.filter(({ required }) => required).map(({ name }) => name)).toEqual([
    ...['root_folder_path', 'bucket', 'endpoint', 'access_key_id', 'secret_access_key'],
  ]);
  expect(s3Driver.items.find(({ name }) => name === 'list_object_version')).toMatchObject({ options: 'v1,v2', default: 'v1' });
  expect(s3Driver.items.find(({ name }) => name === 'sign_url_expire')).toMatchObject({ type: 'number', default: '4' });
});

it('what is left out means what the form would have said', () => {
  expect(settingsOf()).toMatchObject({
    region: 'us-east-1',
    placeholder: '.wharf',
    listVersion: 'v1',
    keyPrefix: '',
    isPathStyle: false,
    verifiesTls: true,
    sessionToken: undefined,
    links: { expirySeconds: 4 * 3600, customHost: undefined },
  });
});

it.each([
  ['/', ''],
  ['', ''],
  ['a', 'a/'],
  ['/a/b/', 'a/b/'],
  ['/ä b', 'ä b/'],
])('the root %j is the prefix %j', (root_folder_path, keyPrefix) => expect(settingsOf({ root_folder_path }).keyPrefix).toBe(keyPrefix));

it.each([
  [{}, 'https://photos.s3.example.com/'],
  [{ force_path_style: true }, 'https://s3.example.com/photos/'],
  [{ endpoint: 'http://s3.example.com:8000' }, 'http://photos.s3.example.com:8000/'],
  [{ endpoint: 'http://10.0.0.1:9000' }, 'http://10.0.0.1:9000/photos/'],
  [{ endpoint: 'http://[::1]:9000/' }, 'http://[::1]:9000/photos/'],
  [{ endpoint: 'https://x.example/storage/v1/s3', force_path_style: true }, 'https://x.example/storage/v1/s3/photos/'],
  [{ bucket: 'with.dots' }, 'https://s3.example.com/with.dots/'],
  [{ bucket: 'with.dots', endpoint: 'http://s3.example.com' }, 'http://with.dots.s3.example.com/'],
  [{ bucket: 'Large' }, 'https://s3.example.com/Large/'],
])('with %j the bucket is at %s', (items, url) => expect(objectUrl(settingsOf(items), '').href).toBe(url));

it.each([
  [{}, 'https://photos.s3.example.com/a%20b'],
  [{ custom_host: 'cdn.example.com' }, 'https://cdn.example.com/a%20b'],
  [{ custom_host: 'http://cdn.example.com:81/x', force_path_style: true }, 'http://cdn.example.com:81/x/photos/a%20b'],
  [{ custom_host: 'cdn.example.com', force_path_style: true, remove_bucket: true }, 'https://cdn.example.com/a%20b'],
])('with %j links lead to %s', (items, url) => expect(linkUrl(settingsOf(items), 'a b').href).toBe(url));

it.each(['..', 'a/../b', 'a/./b', 'x/..'])('the key %j has no address', (key) => {
  expect(() => objectUrl(settingsOf(), key)).toThrow('the storage cannot do this with this path');
});

it.each(['a+b', 'a&b=c', '%2e%2e', '%2F', "it's (1)!*", '😀', 'a?b#c', '//', 'ä'])('the key %j is kept', (key) => {
  const { pathname, search, hash } = objectUrl(settingsOf(), key);
  expect([decodeURIComponent(pathname), search, hash]).toEqual([`/${key}`, '', '']);
});

describe('is refused', () => {
  it.each([
    [{ endpoint: 'ftp://x' }, 'endpoint'],
    [{ endpoint: 'https://user:secret@x' }, 'endpoint'],
    [{ endpoint: 'https://x/?a' }, 'endpoint'],
    [{ endpoint: 'https://' }, 'endpoint'],
    [{ custom_host: 'https://x/#a' }, 'custom_host'],
    [{ bucket: 'a/b' }, 'bucket'],
    [{ bucket: '..' }, 'bucket'],
    [{ bucket: 'a@b' }, 'bucket'],
    [{ root_folder_path: '/a/../b' }, 'root_folder_path'],
    [{ placeholder: 'a/b' }, 'placeholder'],
    [{ placeholder: '..' }, 'placeholder'],
    [{ sign_url_expire: 169 }, 'sign_url_expire'],
    [{ sign_url_expire: -1 }, 'sign_url_expire'],
    [{ user_agent: 'a\r\nX-Evil: 1' }, 'user_agent'],
    [{ storage_class: 'ä' }, 'storage_class'],
  ])('%j', (items, name) => {
    const error = (() => {
      try {
        settingsOf(items);
      } catch (thrown) {
        return AppError.from(thrown);
      }
      return undefined;
    })();
    expect(error).toMatchObject({ code: 'INVALID_ARGUMENT', message: expect.stringContaining(name) });
    expect(error?.message).not.toContain('secret@');
  });
});
