import { mkdir, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { makeTempDir } from '@wharf/harness';
import { expect, onTestFinished, test } from 'vitest';
import { createAccelAddress, parseAccelFolder } from './accel-redirect.ts';

test.each([
  ['/srv/photos=/_photos', { folder: '/srv/photos', location: '/_photos/' }],
  ['/srv/a=b=/_files/', { folder: '/srv/a=b', location: '/_files/' }],
  ['/=/_all', { folder: '/', location: '/_all/' }],
  ['photos=/_photos', undefined],
  ['/srv/photos', undefined],
  ['/srv/photos=_photos', undefined],
  ['/srv/photos=/_pho tos', undefined],
  ['/srv/photos=/_photos?x', undefined],
  ['/srv/photos=/_photos\r\nX: y', undefined],
  ['', undefined],
])('%s is read as a folder and a location, or refused', (text, folder) => {
  expect(parseAccelFolder(text)).toEqual(folder);
});

const address = createAccelAddress([
  { folder: '/srv', location: '/_srv/' },
  { folder: '/srv/photos', location: '/_photos/' },
]);

test.each([
  ['/srv/a.jpg', '/_srv/a.jpg'],
  ['/srv/photos/a/b c.jpg', '/_photos/a/b%20c.jpg'],
  ['/srv/photos-old/a', '/_srv/photos-old/a'],
  ['/srv/photos/%2e%2e?#\r\nX: ü', '/_photos/%252e%252e%3F%23%0D%0AX%3A%20%C3%BC'],
  ['/srv', undefined],
  ['/srvother/a', undefined],
  ['/etc/passwd', undefined],
])('the address of %s', (place, expected) => {
  expect(address?.(place)).toBe(expected);
});

test('a folder that is a link stands for where it leads', async () => {
  const dir = await makeTempDir('accel');
  onTestFinished(() => dir.remove());
  await mkdir(join(dir.path, 'disk'));
  await symlink(join(dir.path, 'disk'), join(dir.path, 'link'));
  const addressOf = createAccelAddress([{ folder: join(dir.path, 'link'), location: '/_f/' }]);
  expect(addressOf?.(join(dir.path, 'disk', 'a'))).toBe('/_f/a');
});

test('without a folder there is nothing to ask', () => expect(createAccelAddress([])).toBeUndefined());
