import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { NO_EGRESS, plainContext } from '../../driver-contract/open-context.ts';
import type { StorageDriver } from '../../driver-contract/storage-driver.ts';
import { storageError } from '../../driver-contract/storage-error.ts';
import { aliasDriver } from '../../drivers/alias/index.ts';
import { MemoryDriver } from '../../drivers/memory/driver.ts';
import { bytesOf, mpath } from '../testing/memory-tree.ts';
import { passThrough } from '../testing/pass-through.ts';
import { refusalOf } from '../testing/refusal.ts';
import { openStorage } from './open-storage.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** Longer than any opening may take. */
const LONG_MS = 60_000;
const surroundings = { ...plainContext({}, {}), egress: NO_EGRESS, openMount: undefined };

it('a storage that stands on one that does not answer opens without it, once that has had its time', async () => {
  const good = new MemoryDriver();
  await good.write(mpath('/file'), bytesOf('x'), { overwrite: false });
  const silent = Promise.withResolvers<StorageDriver>();
  const openMount = (path: string) => (path === '/good' ? Promise.resolve(good) : silent.promise);
  const opening = openStorage(aliasDriver, JSON.stringify({ paths: 'm:/good\nm:/silent' }), { ...surroundings, openMount });
  await vi.advanceTimersByTimeAsync(LONG_MS);
  silent.reject(storageError('STORAGE_UNAVAILABLE'));
  const driver = await opening;
  expect((await driver.stat(mpath('/file'))).sizeBytes).toBe(1);
});

it('the time of a storage that stands on another goes on when that is open', async () => {
  const hanging = {
    ...passThrough,
    open: async (_addition: string, context: Parameters<typeof passThrough.open>[1]) => {
      await context?.openMount?.('/below', { keepsNames: true });
      return new Promise<StorageDriver>(() => undefined);
    },
  };
  const refused = refusalOf(openStorage(hanging, '{}', { ...surroundings, openMount: async () => new MemoryDriver() }));
  await vi.advanceTimersByTimeAsync(LONG_MS);
  expect((await refused)[0]).toBe('DEADLINE_EXCEEDED');
});
