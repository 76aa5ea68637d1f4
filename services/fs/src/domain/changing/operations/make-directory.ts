import { AppError } from '@wharf/errors';
import { parentPath } from '@wharf/paths';
import { supports } from '../../../driver-contract/storage-driver.ts';
import { denied } from '../../access/permissions.ts';
import { locate, resolvePath } from '../../snapshot/snapshot.ts';
import { type Operation, open, requireCreation, requireCreationOf, unsupported } from './operation.ts';
import { changeCallOf } from './rights-of-now.ts';

/** Makes a folder and what is missing above it. An existing folder is success. */
export async function makeDirectory(operation: Operation, raw: string): Promise<void> {
  const { snapshot, actor, changes } = operation;
  const path = resolvePath(actor, raw);
  requireCreation(snapshot, actor, parentPath(path));
  await requireCreationOf(operation, parentPath(path));
  // The folder alone, whatever rules guard in it: it may be there.
  if (!snapshot.rules.mayTouch(actor, path, 'create')) throw denied();
  if (snapshot.table.isProtected(path)) return;
  const { driver, path: place } = await open(locate(snapshot, path));
  if (!supports(driver, 'makeDirectory')) throw unsupported();
  const since = changes.now();
  try {
    const entry = await driver.makeDirectory(place, changeCallOf(operation));
    changes.entryBecame({ path, driver, entry, since });
  } catch (error) {
    // The family's code for this is 500, unlike that of every other name that is taken.
    if (AppError.is(error, 'ENTRY_EXISTS')) throw new AppError('FAILED_PRECONDITION', 'file exists', { cause: error });
    throw error;
  }
}
