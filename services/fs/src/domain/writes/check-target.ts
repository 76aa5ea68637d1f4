import { AppError } from '@wharf/errors';
import type { VirtualPath } from '@wharf/paths';
import { supports } from '../../driver-contract/storage-driver.ts';
import { denied, requirePermission } from '../access/permissions.ts';
import { callOf, type Operation, requireCreationOf, requireWrite } from '../changing/operations/operation.ts';
import type { Located } from '../mounts/mount-table.ts';
import type { Mount } from '../mounts/mounts.ts';
import { findEntry } from '../reading/get-entry.ts';
import { locate } from '../snapshot/snapshot.ts';

/**
 * The right alone to have files brought to a folder: its storage is asked only where a folder above may not be written to.
 *
 * @throws AppError PERMISSION_DENIED
 */
export async function requireBringing(operation: Operation, directory: VirtualPath): Promise<void> {
  const { snapshot, actor } = operation;
  requirePermission(actor, 'offline_download');
  requireWrite(snapshot, actor, directory);
  // Whatever is there, a storage or nothing: each file that is to be brought there is refused.
  if (snapshot.rules.isHidden(actor, directory)) throw denied();
  await requireCreationOf(operation, directory);
}

/**
 * Whether the caller may have files brought to a folder, which may be missing.
 *
 * @throws AppError PERMISSION_DENIED | NOT_A_DIRECTORY | UNSUPPORTED_OPERATION | MOUNT_NOT_FOUND
 */
export async function checkTarget(operation: Operation, directory: VirtualPath): Promise<Located<Mount>> {
  const { snapshot, actor } = operation;
  await requireBringing(operation, directory);
  const located = locate(snapshot, directory);
  // Of what the caller may not read nothing is told.
  if (!snapshot.rules.mayTouch(actor, directory, 'create')) return located;
  const driver = await located.mount.driver();
  if (located.mount.definition.config.no_upload || !supports(driver, 'write'))
    throw new AppError('UNSUPPORTED_OPERATION', 'upload not supported');
  const found = snapshot.table.isProtected(directory) ? undefined : await findEntry(snapshot, directory, located, callOf(operation));
  if (found && !found.isDirectory) throw new AppError('NOT_A_DIRECTORY', 'not a folder');
  return located;
}
