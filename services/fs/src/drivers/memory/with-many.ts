import { AppError } from '@wharf/errors';
import { decorated, operationsOf } from '../../driver-contract/complete-driver.ts';
import type { StorageDriver, WholeWrite } from '../../driver-contract/storage-driver.ts';
import { throwIfAborted } from '../../driver-contract/storage-error.ts';

/** The same driver, which takes several small files in one call. */
export function withMany(driver: StorageDriver): StorageDriver {
  const { write } = operationsOf(driver);
  return decorated({
    ...operationsOf(driver),
    readMany: (files, { maxBytes, signal }) =>
      Promise.all(
        files.map(async (file) => {
          throwIfAborted(signal);
          const content = await driver.read(file).catch(() => undefined);
          if (!content || (content.entry.sizeBytes ?? Number.POSITIVE_INFINITY) > maxBytes) return undefined;
          return { entry: content.entry, bytes: Buffer.concat(await Array.fromAsync(content)) };
        }),
      ),
    writeMany:
      write &&
      (async (files, { signal } = {}) => {
        throwIfAborted(signal);
        const store = async ({ file, content, mayPublishUntil, ...how }: WholeWrite) => {
          await mayPublishUntil();
          return write(file, only(content), how);
        };
        return Promise.all(files.map((each) => store(each).catch(AppError.from)));
      }),
  });
}

async function* only(content: Uint8Array): AsyncGenerator<Uint8Array, void> {
  yield content;
}
