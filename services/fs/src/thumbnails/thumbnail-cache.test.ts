import { truncate, writeFile } from 'node:fs/promises';
import { makeTempDir } from '@wharf/harness';
import { expect, it } from 'vitest';
import { createThumbnailCache } from './thumbnail-cache.ts';

it('what somebody else has put in place of a thumbnail is not read: where the folder is shown, a user may', async () => {
  const dir = await makeTempDir('thumbnails');
  const cache = createThumbnailCache(dir.path);
  const png = new Uint8Array([1, 2, 3]);
  await cache.write('abc', png);
  expect(await cache.read('abc')).toEqual(png);
  const file = `${dir.path}/wharf-thumbnail-abc.png`;
  await truncate(file, 3 * 1024 * 1024);
  expect(await cache.read('abc')).toBeUndefined();
  await writeFile(file, '');
  expect(await cache.read('abc')).toBeUndefined();
  await cache.write('abc', png);
  expect(await cache.read('abc')).toEqual(png);
  expect(await cache.read('other')).toBeUndefined();
  await dir.remove();
});
