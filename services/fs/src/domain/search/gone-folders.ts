import { AppError } from '@wharf/errors';
import { MOUNT_ROOT, parentPath, type VirtualPath } from '@wharf/paths';
import { standsOnOthers } from '../../driver-contract/define-driver.ts';
import type { CallOptions, Entry } from '../../driver-contract/storage-driver.ts';
import { isRootAway, rootIsGone } from '../../driver-contract/storage-error.ts';
import type { Located } from '../mounts/mount-table.ts';
import type { Mount } from '../mounts/mounts.ts';

/**
 * Of what is gone: the topmost folder above it that is gone, too, or itself. A folder that got another name is gone with all that is below it. If the index
 * lost only what was looked for, it would take the rest to the new place, and read nothing there.
 */
export async function topmostGone(path: VirtualPath, isThere: (folder: VirtualPath) => Promise<boolean>): Promise<VirtualPath> {
  let top = path;
  while (top !== '/' && !(await isThere(parentPath(top)))) top = parentPath(top);
  return top;
}

/** Whether an error of a look says that nothing is there. */
export function isGone(error: unknown): boolean {
  return AppError.is(error, 'ENTRY_NOT_FOUND') || AppError.is(error, 'MOUNT_NOT_FOUND');
}

/**
 * The root of a storage: where that is not there, as on a disk of a server that is not mounted, nothing in it is gone, and all of it may be back later.
 *
 * @throws AppError STORAGE_UNAVAILABLE then, and what the storage says; ENTRY_NOT_FOUND of a storage that stands on others, whose folder somebody moved
 */
export async function lookAtRoot({ mount }: Pick<Located<Mount>, 'mount'>, call: CallOptions): Promise<Entry> {
  const driver = await mount.driver();
  try {
    return await driver.stat(MOUNT_ROOT, call);
  } catch (error) {
    throw isGone(error) && isRootAway(error, standsOnOthers(mount.definition)) ? rootIsGone(error) : error;
  }
}
