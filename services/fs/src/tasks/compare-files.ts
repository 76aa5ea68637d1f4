import { AppError } from '@wharf/errors';
import type { MountPath } from '@wharf/paths';
import { hashPairs, hasOtherSize } from '../domain/changing/copy-file.ts';
import type { Entry, StorageDriver } from '../driver-contract/storage-driver.ts';

/** Whether a target is a whole copy of a source, as far as what both storages say of them tells; undefined: it does not tell. */
export function looksLikeCopy(source: Entry, target: Entry, driver: StorageDriver): boolean | undefined {
  if (target.isDirectory || source.isDirectory || hasOtherSize(source, target)) return false;
  const hashes = hashPairs(source, target);
  if (hashes.length > 0) return hashes.every(([here, there]) => here === there);
  const stepMs = driver.traits.modTimeStepMs;
  if (stepMs === undefined || source.sizeBytes === undefined || target.sizeBytes === undefined) return undefined;
  return Math.abs(target.modifiedAt.getTime() - source.modifiedAt.getTime()) <= Math.max(1, stepMs);
}

/** What is at a path, undefined when nothing is. */
export async function statIfThere(driver: StorageDriver, path: MountPath, signal: AbortSignal): Promise<Entry | undefined> {
  try {
    return await driver.stat(path, { signal });
  } catch (error) {
    if (AppError.is(error, 'ENTRY_NOT_FOUND') || AppError.is(error, 'NOT_A_DIRECTORY')) return undefined;
    throw error;
  }
}
