import { expect, it, vi } from 'vitest';
import { MemoryDriver } from '../drivers/memory/driver.ts';
import { decorated, operationsOf } from './complete-driver.ts';
import { at, put } from './conformance/driver-calls.ts';
import type { RemoveOptions, StorageDriver } from './storage-driver.ts';
import { storageError } from './storage-error.ts';
import { withObserver } from './with-observer.ts';
import { withTraits } from './with-traits.ts';

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

it('a storage is not to blame where nobody can say whether what was taken in for its size is still wanted', async () => {
  const { driver: store } = await openAsking();
  const failed = vi.fn();
  const observer = { begin: () => 1, enter: () => () => undefined, succeeded: () => undefined, failed };
  const sized = withTraits(decorated({ ...operationsOf(store), traits: { ...store.traits, needsSize: true } }));
  const driver = withObserver(sized, observer) as Required<StorageDriver>;
  async function* content() {
    yield Buffer.from('text');
  }
  const whileAllowed = async function* (taken: AsyncIterable<Uint8Array>) {
    yield* taken;
    await away();
  };
  await expect(driver.write(at('/new'), content(), { overwrite: true, whileAllowed })).rejects.toMatchObject({
    code: 'STORAGE_UNAVAILABLE',
  });
  expect(failed).not.toHaveBeenCalled();
  await expect(store.stat(at('/new'))).rejects.toMatchObject({ code: 'ENTRY_NOT_FOUND' });
});

it('of several that ask at once in one change each may be the one that is told of', async () => {
  const store = new MemoryDriver({});
  const failed = vi.fn();
  const observer = { begin: () => 1, enter: () => () => undefined, succeeded: () => undefined, failed };
  const twice = decorated({
    ...operationsOf(store),
    makeDirectory: async (_path, { afterWaiting } = {}) => {
      const [first] = await Promise.allSettled([afterWaiting?.(), afterWaiting?.()]);
      throw first?.status === 'rejected' ? first.reason : new Error('it was not asked');
    },
  });
  const driver = withObserver(twice, observer) as Required<StorageDriver>;
  await expect(driver.makeDirectory(at('/new'), { afterWaiting: away })).rejects.toMatchObject({ code: 'STORAGE_UNAVAILABLE' });
  expect(failed).not.toHaveBeenCalled();
});
