import { MOUNT_ROOT } from '@wharf/paths';
import { decorated, operationsOf } from './complete-driver.ts';
import { requireListedFolder } from './require-listed.ts';
import type { CallOptions, StorageDriver } from './storage-driver.ts';
import { isAway, isNotThere, isRootAway, isSaidOfPart, rootIsGone } from './storage-error.ts';

/**
 * What is not there where it was to be removed is gone only if the folder that is the storage is there: where a disk of the server is not mounted nothing is,
 * and all of it is back later. The root is asked for then alone.
 *
 * @param standsOnOthers whether the storage has no server and no disk of its own
 */
export function withPresentRoot(driver: StorageDriver, standsOnOthers = false): StorageDriver {
  const operations = operationsOf(driver);
  const { remove, beginRemoval } = operations;
  const isAwayNow = async (missing: readonly unknown[], { signal }: CallOptions = {}): Promise<boolean> => {
    const options = signal && { signal };
    try {
      await driver.stat(MOUNT_ROOT, options);
      // A gateway shows the place of a storage of its own that is away. What is right in it looks so itself; what stands on it sees the place alone.
      if (standsOnOthers && missing.some(isSaidOfPart)) await requireListedFolder(driver, MOUNT_ROOT, options);
      return false;
    } catch (error) {
      return isAway(error) || (isNotThere(error) && isRootAway(error, standsOnOthers));
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
          throw isNotThere(error) && (await isAwayNow([error], options)) ? rootIsGone(error) : error;
        }
      }),
    beginRemoval:
      beginRemoval &&
      (async (paths, options) => {
        const answers = await beginRemoval(paths, options);
        const missing = answers.filter(isNotThere);
        if (missing.length === 0 || !(await isAwayNow(missing, options))) return answers;
        return answers.map((answer) => (isNotThere(answer) ? rootIsGone(answer) : answer));
      }),
  });
}
