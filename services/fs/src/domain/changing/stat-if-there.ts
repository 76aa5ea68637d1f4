import type { MountPath } from '@wharf/paths';
import type { CallOptions, Entry, StorageDriver } from '../../driver-contract/storage-driver.ts';
import { isNotThere } from '../../driver-contract/storage-error.ts';

/** What is at a path, undefined when nothing is. */
export async function statIfThere(driver: StorageDriver, path: MountPath, call: CallOptions): Promise<Entry | undefined> {
  try {
    return await driver.stat(path, call);
  } catch (error) {
    if (isNotThere(error)) return undefined;
    throw error;
  }
}
