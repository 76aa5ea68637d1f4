import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { AppError } from '@wharf/errors';
import { expect, it, onTestFinished } from 'vitest';
import { storageRecord } from '../domain/testing/records.ts';
import { decorated, operationsOf } from '../driver-contract/complete-driver.ts';
import { at, put } from '../driver-contract/conformance/driver-calls.ts';
import { decorate } from '../driver-contract/decorate.ts';
import type { Entry, StorageDriver } from '../driver-contract/storage-driver.ts';
import { MemoryDriver } from '../drivers/memory/driver.ts';
import { memoryDriver } from '../drivers/memory/index.ts';
import { readImageHeader } from './image-header.ts';
import { createPictureMaker } from './picture-maker.ts';
import { pngOf } from './testing/pictures.ts';
import { createThumbnails } from './thumbnails.ts';

const ASKER = { signal: new AbortController().signal, caller: 'one' };

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
  expect(readImageHeader(Buffer.from(await thumbnails.get(mount, at('/photo.png'), entry, true, ASKER)))).toMatchObject({
    width: 144,
    height: 96,
  });
  const failure = await thumbnails.get(mount, at('/photo.png'), entry, false, ASKER).catch((error: unknown) => AppError.from(error).code);
  expect(failure).toBe('DEADLINE_EXCEEDED');
});

it('C17: who asks for many thumbnails of a storage that stands still holds half of its places, and none any more once gone', async () => {
  const stored = new MemoryDriver();
  const reads = new Map<string, AbortSignal | undefined>();
  const standing = decorated({
    ...operationsOf(stored),
    read: (path, range, options) => {
      reads.set(path, options?.signal);
      if (path === '/fine.png' || path === '/p200.png') return stored.read(path, range, options);
      return new Promise((_, reject) => options?.signal?.addEventListener('abort', () => reject(options.signal?.reason), { once: true }));
    },
  });
  const maker = createPictureMaker();
  onTestFinished(() => maker.close());
  const onError = (error: unknown) => expect.unreachable(String(error));
  const thumbnails = createThumbnails({ maker, defaultFolder: undefined, onError });
  const mount = { storage: storageRecord(), definition: memoryDriver, thumbnails: undefined, driver: async () => standing };
  const picture = pngOf(300, 200);
  for (const name of ['fine', ...Array.from({ length: 300 }, (_, index) => `p${index}`)]) await put(stored, `/${name}.png`, picture);
  const [many, other] = [new AbortController(), new AbortController()];
  const ask = async (name: string, signal: AbortSignal, caller: string) => {
    const path = at(`/${name}.png`);
    return thumbnails.get(mount, path, await stored.stat(path), true, { signal, caller });
  };
  const asked = Array.from({ length: 300 }, (_, index) => ask(`p${index}`, many.signal, 'many'));
  // Somebody else waits for one of them too.
  const shared = ask('p0', other.signal, 'other');
  const outcomes = Promise.allSettled([...asked, shared]);
  await expect.poll(() => reads.size).toBe(2);
  expect(readImageHeader(Buffer.from(await ask('fine', other.signal, 'other')))).toMatchObject({ width: 144 });
  // It waits for the other's turn or for its own, whichever comes first.
  expect(readImageHeader(Buffer.from(await ask('p200', other.signal, 'other')))).toMatchObject({ width: 144 });
  many.abort();
  await Promise.allSettled(asked);
  expect([...reads].map(([path, signal]) => [path, signal?.aborted])).toEqual([
    ['/p0.png', false],
    ['/p1.png', true],
    ['/fine.png', false],
    ['/p200.png', false],
  ]);
  other.abort();
  expect((await outcomes).flatMap(({ status }, index) => (status === 'rejected' ? [] : [index]))).toEqual([200]);
});

const MIB = 1024 * 1024;

/** Storages of which no read ends before those who ask are gone, and what counts their reads. */
async function openStanding(picture: Buffer) {
  const stored = new MemoryDriver();
  await put(stored, '/big.png', picture);
  const path = at('/big.png');
  const gone = new AbortController();
  let reads = 0;
  const standing = decorated({
    ...operationsOf(stored),
    read: (_path, _range, options) => {
      reads += 1;
      return new Promise((_, reject) => options?.signal?.addEventListener('abort', () => reject(options.signal?.reason), { once: true }));
    },
  });
  const maker = createPictureMaker();
  onTestFinished(() => maker.close());
  const onError = (error: unknown) => expect.unreachable(String(error));
  const thumbnails = createThumbnails({ maker, defaultFolder: undefined, heldBytes: 128 * MIB, onError });
  const ask = (id: number, driver: StorageDriver, entry: Entry, caller = 'one') => {
    const mount = { storage: storageRecord({ _id: id }), definition: memoryDriver, thumbnails: undefined, driver: async () => driver };
    return thumbnails.get(mount, path, entry, true, { signal: gone.signal, caller });
  };
  return { stored, standing, entry: await stored.stat(path), ask, gone, countReads: () => reads };
}

it('files of all storages together are held in so many bytes, however many storages there are, and large ones leave room for small ones', async () => {
  const { stored, standing, entry, ask, gone, countReads } = await openStanding(pngOf(300, 200));
  const big = { ...entry, sizeBytes: 64 * MIB };
  const asked = Promise.allSettled(Array.from({ length: 10 }, (_, index) => ask(index + 1, standing, big)));
  await expect.poll(countReads).toBe(1);
  expect(readImageHeader(Buffer.from(await ask(11, stored, entry)))).toMatchObject({ width: 144 });
  gone.abort();
  await asked;
  expect(countReads()).toBe(1);
});

it('photos of a storage that answers do not wait for those of two that stand still', async () => {
  const photo = Buffer.concat([pngOf(300, 200), Buffer.alloc(5 * MIB)]);
  const { stored, standing, entry, ask, gone, countReads } = await openStanding(photo);
  const versions = [1, 2, 3, 4].map((second) => ({ ...entry, sizeBytes: 12 * MIB, modifiedAt: new Date(second * 1000) }));
  const callers = ['one', 'two'];
  const asked = Promise.allSettled(
    [1, 2].flatMap((id) => versions.map((version, index) => ask(id, standing, version, callers[index % callers.length]))),
  );
  await expect.poll(countReads).toBe(4);
  expect(readImageHeader(Buffer.from(await ask(3, stored, entry)))).toMatchObject({ width: 144 });
  gone.abort();
  await asked;
});

it('a file that was replaced by one of its size and date has a picture of its own, where its storage tells one from the other', async () => {
  const stored = new MemoryDriver();
  await put(stored, '/photo.png', pngOf(300, 200));
  const looked = await stored.stat(at('/photo.png'));
  const folder = await mkdtemp(join(tmpdir(), 'thumbnails-'));
  const maker = createPictureMaker();
  onTestFinished(async () => {
    maker.close();
    await rm(folder, { recursive: true });
  });
  let told: Pick<Entry, 'version' | 'createdAt'> = {};
  let image = pngOf(300, 200);
  const telling = decorated({
    ...operationsOf(stored),
    read: async () => ({
      entry: { ...looked, sizeBytes: image.byteLength, ...told },
      [Symbol.asyncIterator]: async function* () {
        yield image;
      },
    }),
  });
  const thumbnails = createThumbnails({ maker, defaultFolder: folder, onError: (error) => expect.unreachable(String(error)) });
  const mount = { storage: storageRecord(), definition: memoryDriver, thumbnails: undefined, driver: async () => telling };
  const shown = async (seen: typeof told) => {
    const made = await thumbnails.get(mount, at('/photo.png'), { ...looked, sizeBytes: undefined, ...seen }, true, ASKER);
    return readImageHeader(Buffer.from(made))?.height;
  };
  expect(await shown({})).toBe(96);
  // Of its date as before, and of any size here: only what follows tells them apart.
  image = pngOf(300, 100);
  told = { version: 'second' };
  expect(await shown(told)).toBe(48);
  image = pngOf(300, 50);
  told = { version: 'second', createdAt: new Date(1_000) };
  expect(await shown(told)).toBe(24);
  // What is read is not what was looked at.
  await expect(shown({ version: 'third' })).rejects.toMatchObject({ code: 'STALE_VERSION' });
  await expect(shown({ createdAt: new Date(2_000) })).rejects.toMatchObject({ code: 'STALE_VERSION' });
});
