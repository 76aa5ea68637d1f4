import { AppError } from '@wharf/errors';
import type { MountPath } from '@wharf/paths';
import type { CallOptions, Entry, StorageDriver } from '../../driver-contract/storage-driver.ts';

/** What is at a path, undefined when nothing is. */
export async function statIfThere(driver: StorageDriver, path: MountPath, call: CallOptions): Promise<Entry | undefined> {
  try {
    return await driver.stat(path, call);
  } catch (error) {
    if (AppError.is(error, 'ENTRY_NOT_FOUND') || AppError.is(error, 'NOT_A_DIRECTORY')) return undefined;
    throw error;
  }
}
