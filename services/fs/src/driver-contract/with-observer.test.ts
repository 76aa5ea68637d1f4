import { expect, it, vi } from 'vitest';
import { MemoryDriver } from '../drivers/memory/driver.ts';
import { decorated, operationsOf } from './complete-driver.ts';
import { at, put } from './conformance/driver-calls.ts';
import type { RemoveOptions, StorageDriver } from './storage-driver.ts';
import { storageError } from './storage-error.ts';
import { withObserver } from './with-observer.ts';

/** A storage that asks before each change, as one does that is busy, and takes folders apart. */
async function openAsking() {
  const store = new MemoryDriver({});
  await put(store, '/file', 'text');
  const change =
    <Result>(run: () => Promise<Result>) =>
    async (options: Partial<RemoveOptions> = {}) => {
      await options.afterWaiting?.();
      await options.beforeStep?.(0);
      return run();
    };
  const asking = decorated({
    ...operationsOf(store),
    makeDirectory: (path, options) => change(() => store.makeDirectory(path, options))(options),
    remove: (path, options) => change(() => store.remove(path, options))(options),
    rename: (from, to, options) => change(() => store.rename(from, to, options))(options),
    copy: (from, to, options) => change(() => store.copy(from, to, options))(options),
  });
  const failed = vi.fn();
  const observer = { begin: () => 1, enter: () => () => undefined, succeeded: () => undefined, failed };
  return { driver: withObserver(asking, observer) as Required<StorageDriver>, failed };
}

const away = () => Promise.reject(storageError('STORAGE_UNAVAILABLE'));

it.each<[string, (driver: Required<StorageDriver>, asks: object) => Promise<unknown>]>([
  ['a new folder', (driver, asks) => driver.makeDirectory(at('/new'), asks)],
  ['a removal', (driver, asks) => driver.remove(at('/file'), { recursive: true, ...asks })],
  ['a rename', (driver, asks) => driver.rename(at('/file'), at('/other'), { overwrite: false, ...asks })],
  ['a copy', (driver, asks) => driver.copy(at('/file'), at('/other'), { overwrite: false, ...asks })],
])('a storage is not to blame where nobody can say whether %s is still wanted', async (what, change) => {
  const { driver, failed } = await openAsking();
  const questions = what === 'a removal' ? [{ afterWaiting: away }, { beforeStep: away }] : [{ afterWaiting: away }];
  for (const asks of questions) await expect(change(driver, asks)).rejects.toMatchObject({ code: 'STORAGE_UNAVAILABLE' });
  expect(failed).not.toHaveBeenCalled();
  await change(driver, { afterWaiting: async () => undefined });
  await expect(driver.stat(at('/none'))).rejects.toThrow();
  expect(failed).toHaveBeenCalledTimes(1);
});
