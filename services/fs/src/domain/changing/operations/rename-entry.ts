import { baseName, childPath, parentPath, parseEntryName } from '@wharf/paths';
import { requirePermission } from '../../access/permissions.ts';
import { relocatedAt } from '../../quota/quota.ts';
import { findEntry, getEntry } from '../../reading/get-entry.ts';
import { locate, resolvePath } from '../../snapshot/snapshot.ts';
import { callOf, nameTaken, type Operation, requireUnprotected, requireWrite } from './operation.ts';
import type { QueueItems } from './place-entries.ts';
import { renameItem } from './place-item.ts';
import { conflictAt, type Item } from './plan-placement.ts';
import { mayStillRename, whileRenamed } from './rename-plan.ts';
import { requireNoGuard } from './require-no-guard.ts';
import { requireNothingHidden } from './require-nothing-hidden.ts';
import { rightsOfNow } from './rights-of-now.ts';

/**
 * Gives an entry another name in its folder. With `overwrite` a file of that name is replaced.
 *
 * @param queue takes over a large folder whose storage has to copy and remove it entry by entry. Absent: the caller waits for that
 */
export async function renameEntry(
  operation: Operation,
  request: { path: string; name: string; overwrite: boolean },
  queue?: QueueItems,
): Promise<void> {
  const { snapshot, actor } = operation;
  requirePermission(actor, 'rename');
  const path = resolvePath(actor, request.path);
  const now = rightsOfNow(operation, [parentPath(path)]);
  const name = parseEntryName(request.name);
  requireUnprotected(snapshot, actor, path, 'rename');
  requireWrite(snapshot, actor, parentPath(path));
  const found = await getEntry(snapshot, path, callOf(operation));
  if (baseName(path) === name) return;
  requireNoGuard(operation, path);
  const target = childPath(parentPath(path), name);
  snapshot.rules.requireEntry(actor, target, 'create');
  const from = found.located ?? locate(snapshot, path);
  const to = locate(snapshot, target, from);
  const taken = await findEntry(snapshot, target, to, callOf(operation));
  if (taken && (!request.overwrite || snapshot.table.isProtected(target))) throw nameTaken(name);
  if (taken) snapshot.rules.requireEntry(actor, target, 'write');
  await requireNothingHidden(operation, { entry: found.entry, path, located: from, target });
  const looked = { source: path, target, entry: found.entry, from, to };
  const current = await mayStillRename(operation, now, looked);
  const item: Item = { ...looked, conflict: request.overwrite ? conflictAt(current, target) : 'refuse' };
  await snapshot.quotas.relocating(relocatedAt(path, target), () => renameItem(current, item, { queue, ...whileRenamed(now, item) }));
}
