import { AppError } from '@wharf/errors';
import { type MountPath, parentPath, pathSegments } from '@wharf/paths';
import type { CallOptions, StorageDriver } from './storage-driver.ts';
import { isAway, isNotThere, rootIsGone, throwIfAborted } from './storage-error.ts';

/**
 * A gateway shows the place of a storage of its own while the root of that is away, as on a disk that is not mounted. Then it cannot list it, and says nothing
 * of what is in it.
 *
 * @param listed ends once a listing of the place has begun
 * @throws AppError STORAGE_UNAVAILABLE | DEADLINE_EXCEEDED, or what the signal says
 */
export async function requireListed(listed: Promise<unknown>, signal: AbortSignal | undefined): Promise<void> {
  try {
    await listed;
  } catch (error) {
    if (AppError.is(error, 'ENTRY_NOT_FOUND')) throw rootIsGone(error);
    if (isAway(error)) throw error;
    throwIfAborted(signal);
  }
}

/** The same of a folder of a driver. @throws as requireListed() */
export async function requireListedFolder(driver: StorageDriver, folder: MountPath, options: CallOptions | undefined): Promise<void> {
  await requireListed(beginListing(driver, folder, options), options?.signal);
}

/** Lists no more than the first entry. @throws as list() of the driver */
export async function beginListing(driver: StorageDriver, folder: MountPath, options: CallOptions | undefined): Promise<void> {
  for await (const _ of driver.list(folder, options)) return;
}

/** The same of the lowest folder on the way to what is not there. @throws as requireListed(), and what looks say */
export async function requireListedAbove(driver: StorageDriver, missing: MountPath, options: CallOptions | undefined): Promise<void> {
  const isFolder = (path: MountPath) =>
    driver.stat(path, options).then(
      ({ isDirectory }) => isDirectory,
      (error: unknown) => {
        if (isNotThere(error)) return false;
        throw error;
      },
    );
  await requireListedFolder(driver, await nearestFolder(missing, isFolder), options);
}

/** The lowest folder on the way to something that is there. It may be a thousand levels above. @param isFolder is not asked of the root */
export async function nearestFolder(path: MountPath, isFolder: (path: MountPath) => Promise<boolean>): Promise<MountPath> {
  const segments = pathSegments(parentPath(path));
  const above = (count: number) => `/${segments.slice(0, count).join('/')}` as MountPath;
  let [there, most] = [0, segments.length];
  while (there < most) {
    const middle = Math.ceil((there + most) / 2);
    if (await isFolder(above(middle))) there = middle;
    else most = middle - 1;
  }
  return above(there);
}
