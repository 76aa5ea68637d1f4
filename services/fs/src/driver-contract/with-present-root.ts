import { AppError } from '@wharf/errors';
import { MOUNT_ROOT } from '@wharf/paths';
import { decorated, operationsOf } from './complete-driver.ts';
import type { CallOptions, StorageDriver } from './storage-driver.ts';
import { isAway, isRootAway, rootIsGone } from './storage-error.ts';

/**
 * What is not there where it was to be removed is gone only if the folder that is the storage is there: where a disk of the server is not mounted nothing is,
 * and all of it is back later. The root is asked for then alone.
 *
 * @param standsOnOthers whether the storage has no server and no disk of its own
 */
export function withPresentRoot(driver: StorageDriver, standsOnOthers = false): StorageDriver {
  const operations = operationsOf(driver);
  const { remove, beginRemoval } = operations;
  const isAwayNow = async ({ signal }: CallOptions = {}): Promise<boolean> => {
    const options = signal && { signal };
    let isShown = false;
    try {
      await driver.stat(MOUNT_ROOT, options);
      isShown = true;
      // A gateway shows the place of a storage of its own that is away. What is right in it looks so itself; what stands on it sees the place alone.
      if (standsOnOthers) for await (const _ of driver.list(MOUNT_ROOT, options)) break;
      return false;
    } catch (error) {
      return isAway(error) || (isMissing(error) && (isShown || isRootAway(error, standsOnOthers)));
    }
  };
  return decorated({
    ...operations,
    remove:
      remove &&
      (async (path, options) => {
        try {
          await remove(path, options);
        } catch (error) {
          throw isMissing(error) && (await isAwayNow(options)) ? rootIsGone(error) : error;
        }
      }),
    beginRemoval:
      beginRemoval &&
      (async (paths, options) => {
        const answers = await beginRemoval(paths, options);
        if (!answers.some(isMissing) || !(await isAwayNow(options))) return answers;
        return answers.map((answer) => (isMissing(answer) ? rootIsGone(answer) : answer));
      }),
  });
}

function isMissing(error: unknown): boolean {
  return AppError.is(error, 'ENTRY_NOT_FOUND') || AppError.is(error, 'NOT_A_DIRECTORY');
}
