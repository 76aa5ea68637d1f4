import { AppError } from '@wharf/errors';
import { createPace } from '@wharf/pace';
import type { VirtualPath } from '@wharf/paths';
import { supports } from '../../../driver-contract/storage-driver.ts';
import { requirePermission } from '../../access/permissions.ts';
import type { Located } from '../../mounts/mount-table.ts';
import type { Mount } from '../../mounts/mounts.ts';
import { findEntry } from '../../reading/get-entry.ts';
import { locate, resolvePath } from '../../snapshot/snapshot.ts';
import { innerPaths, type Operation, open, requireUnprotected, requireWrite, unsupported } from './operation.ts';
import { requireNothingHidden } from './require-nothing-hidden.ts';

/** Removes entries of a folder, with all they hold. One that is not there is success. */
export async function removeEntries(operation: Operation, request: { dir: string; names: readonly string[] }): Promise<void> {
  const { snapshot, actor, signal } = operation;
  requirePermission(actor, 'delete');
  const directory = resolvePath(actor, request.dir);
  requireWrite(snapshot, actor, directory);
  const doomed: Doomed[] = [];
  const pace = createPace(signal);
  for (const path of await innerPaths(directory, request.names, pace)) {
    requireUnprotected(snapshot, actor, path, 'delete');
    snapshot.rules.requireEntry(actor, path, 'write');
    doomed.push({ path, located: locate(snapshot, path) });
    await pace.step();
  }
  for (const { path, located } of doomed) {
    await pace.step();
    if (!snapshot.rules.mayHideIn(actor, path)) continue;
    const entry = await findEntry(snapshot, path, located, signal);
    if (entry) await requireNothingHidden(operation, { entry, path, located });
  }
  // What is removed may go to a bin that is counted too.
  await snapshot.quotas.relocating([directory], () => removeAll(operation, doomed));
}

interface Doomed {
  readonly path: VirtualPath;
  readonly located: Located<Mount>;
}

async function removeAll({ snapshot, actor, changes, signal }: Operation, doomed: readonly Doomed[]): Promise<void> {
  for (const { path, located } of doomed) {
    const { driver, path: place } = await open(located);
    if (!supports(driver, 'remove')) throw unsupported();
    const since = changes.now();
    let isGone = false;
    try {
      await driver.remove(place, { recursive: true, signal });
      isGone = true;
    } catch (error) {
      if (!AppError.is(error, 'ENTRY_NOT_FOUND') && !AppError.is(error, 'NOT_A_DIRECTORY')) throw error;
    } finally {
      await snapshot.quotas.freed(actor);
      // Of a folder that failed something may be gone.
      if (isGone) changes.entryBecame({ path, driver, entry: undefined, since });
      else changes.entryChanged(path);
    }
  }
}
