import { AppError } from '@wharf/errors';
import { expect, it } from 'vitest';
import { at, codeOf, put } from '../../driver-contract/conformance/driver-calls.ts';
import type { StorageDriver } from '../../driver-contract/storage-driver.ts';
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
  const driver = withDiskReserve(withMany(store), { holds: async () => true, require: take, take, hold: async () => () => {} });
  const files = [4_096, 20_000, 10].map((bytes) => ({
    file: at(`/file-${bytes}`),
    content: Buffer.alloc(bytes),
    overwrite: false,
    mayPublishUntil: async () => Number.POSITIVE_INFINITY,
  }));
  const outcomes = (await driver.writeMany?.(files))?.map((outcome) => (AppError.is(outcome) ? outcome.code : outcome.name));
  expect(outcomes).toEqual(['file-4096', 'QUOTA_EXCEEDED', 'file-10']);
});
