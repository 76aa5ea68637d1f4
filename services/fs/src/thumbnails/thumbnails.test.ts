import { AppError } from '@wharf/errors';
import { expect, it, onTestFinished } from 'vitest';
import { storageRecord } from '../domain/testing/records.ts';
import { decorated, operationsOf } from '../driver-contract/complete-driver.ts';
import { at, put } from '../driver-contract/conformance/driver-calls.ts';
import { decorate } from '../driver-contract/decorate.ts';
import { MemoryDriver } from '../drivers/memory/driver.ts';
import { memoryDriver } from '../drivers/memory/index.ts';
import { readImageHeader } from './image-header.ts';
import { createPictureMaker } from './picture-maker.ts';
import { pngOf } from './testing/pictures.ts';
import { createThumbnails } from './thumbnails.ts';

it('a picture of the storage that does not come is not waited for: the file is read, and where that is no picture the time is over', async () => {
  const stored = new MemoryDriver({ hasThumbnails: true });
  await put(stored, '/photo.png', pngOf(300, 200));
  const standing = decorate(decorated({ ...operationsOf(stored), thumbnail: () => Promise.withResolvers<never>().promise }), {
    names: 4,
    reads: 4,
    writes: 4,
  });
  const maker = createPictureMaker();
  onTestFinished(() => maker.close());
  const thumbnails = createThumbnails({
    maker,
    defaultFolder: undefined,
    pictureTimeoutMs: 20,
    onError: (error) => expect.unreachable(String(error)),
  });
  const mount = { storage: storageRecord(), definition: memoryDriver, thumbnails: undefined, driver: async () => standing };
  const entry = await stored.stat(at('/photo.png'));
  expect(entry.hasThumbnail).toBe(true);
  expect(readImageHeader(Buffer.from(await thumbnails.get(mount, at('/photo.png'), entry, true)))).toMatchObject({
    width: 144,
    height: 96,
  });
  const failure = await thumbnails.get(mount, at('/photo.png'), entry, false).catch((error: unknown) => AppError.from(error).code);
  expect(failure).toBe('DEADLINE_EXCEEDED');
});
