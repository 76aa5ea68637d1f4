import { AppError } from '@wharf/errors';
import { expect, it } from 'vitest';
import { at, codeOf, put } from '../../driver-contract/conformance/driver-calls.ts';
import type { Draft, StorageDriver } from '../../driver-contract/storage-driver.ts';
import { memoryDriver } from '../../drivers/memory/index.ts';
import { withMany } from '../../drivers/memory/with-many.ts';
import { withDiskReserve } from './disk-reserve.ts';

it('where there is no room no empty file and no folder is made, and what is there is moved and removed', async () => {
  const refuse = () => Promise.reject(new AppError('QUOTA_EXCEEDED', 'no room'));
  const store = (await memoryDriver.open('')) as Required<StorageDriver>;
  await put(store, '/there/file', '');
  const driver = withDiskReserve(store, {
    holds: async () => true,
    require: refuse,
    take: refuse,
    hold: refuse,
  }) as Required<StorageDriver>;
  const made = [driver.makeDirectory(at('/new')), put(driver, '/new-file', '')];
  expect(new Set(await Promise.all(made.map(codeOf)))).toEqual(new Set(['QUOTA_EXCEEDED']));
  // As for what moves there.
  await driver.makeDirectory(at('/there'));
  await driver.rename(at('/there/file'), at('/there/other'), { overwrite: false });
  await driver.remove(at('/there/other'), { recursive: false });
});

it('of several files that are stored in one call those without room are refused, each by itself', async () => {
  const store = (await memoryDriver.open('')) as Required<StorageDriver>;
  const take = async (bytes: number) => {
    if (bytes > 8_192) throw new AppError('QUOTA_EXCEEDED', 'no room');
  };
  const hold = (bytes: number) => take(bytes).then(() => () => {});
  const driver = withDiskReserve(withMany(store), { holds: async () => true, require: take, take, hold });
  const files = [4_096, 20_000, 10].map((bytes) => ({
    file: at(`/file-${bytes}`),
    content: Buffer.alloc(bytes),
    overwrite: false,
    mayPublishUntil: async () => Number.POSITIVE_INFINITY,
  }));
  const outcomes = (await driver.writeMany?.(files))?.map((outcome) => (AppError.is(outcome) ? outcome.code : outcome.name));
  expect(outcomes).toEqual(['file-4096', 'QUOTA_EXCEEDED', 'file-10']);
});

it('a copy that ends while the disk is looked at holds nothing of it afterwards', async () => {
  const store = (await memoryDriver.open('')) as Required<StorageDriver>;
  await put(store, '/file', 'content');
  const look = Promise.withResolvers<void>();
  let asked: Promise<void> | undefined;
  // It ends with its caller, as one behind a network does, whatever it has asked.
  store.copy = async (_from, _to, { signal, beforeCopy }) => {
    asked = beforeCopy?.(7, 1);
    await new Promise((_, reject) => signal?.addEventListener('abort', () => reject(new AppError('CANCELLED', 'gone'))));
    throw new Error('not reached');
  };
  let heldBytes = 0;
  const hold = async (bytes: number) => {
    await look.promise;
    heldBytes += bytes;
    return () => {
      heldBytes -= bytes;
    };
  };
  const nothing = async () => {};
  const driver = withDiskReserve(store, { holds: async () => true, require: nothing, take: nothing, hold }) as Required<StorageDriver>;
  const caller = new AbortController();
  const copying = codeOf(driver.copy(at('/file'), at('/copy'), { overwrite: false, signal: caller.signal }));
  caller.abort();
  expect(await copying).toBe('CANCELLED');
  look.resolve();
  expect(await codeOf(asked ?? nothing())).toBe('CANCELLED');
  expect(heldBytes).toBe(0);
});

it('folders that are made on the way count', async () => {
  const store = (await memoryDriver.open('')) as Required<StorageDriver>;
  const nothing = async () => {};
  const [write, sizeBytes] = [async () => 0, async () => 0];
  const draft = { partBytes: 1, write, sizeBytes, sync: nothing, discard: nothing, close: nothing, read: nothing, publish: nothing };
  store.openDraft = async () => draft as object as Draft;
  let takenBytes = 0;
  let heldBytes = 0;
  const hold = async (bytes: number) => {
    takenBytes += bytes;
    heldBytes += bytes;
    return () => {
      heldBytes -= bytes;
    };
  };
  const driver = withDiskReserve(withMany(store), {
    holds: async () => true,
    require: async () => {},
    take: async () => {},
    hold,
  }) as Required<StorageDriver>;
  const taken = async (run: () => Promise<unknown>) => {
    takenBytes = 0;
    await run();
    expect(heldBytes).toBe(0);
    return takenBytes / 4_096;
  };
  const deep = (name: string) => at(`/${name}${'/d'.repeat(99)}`);
  const whole = { content: Buffer.alloc(5_000), overwrite: false, mayPublishUntil: async () => Number.POSITIVE_INFINITY };
  expect(await taken(() => driver.makeDirectory(deep('folder')))).toBe(100);
  expect(await taken(() => put(driver, deep('file'), ''))).toBe(100);
  expect(await taken(() => driver.writeMany([{ ...whole, file: deep('small') }]))).toBe(101);
  expect(await taken(() => driver.openDraft(deep('draft'), '0'.repeat(32), { create: true }))).toBe(100);
  expect(await taken(() => driver.openDraft(deep('draft'), '0'.repeat(32), { create: false }))).toBe(0);
});
