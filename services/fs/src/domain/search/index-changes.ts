import { AppError } from '@wharf/errors';
import { baseName, childPath, isWithin, parentPath, pathSegments, type VirtualPath } from '@wharf/paths';
import type { Entry } from '../../driver-contract/storage-driver.ts';
import { getEntry } from '../reading/get-entry.ts';
import type { Snapshot } from '../snapshot/snapshot.ts';
import { indexScope } from './index-scope.ts';
import { nearestFolder } from './index-walker.ts';
import { toIndexed } from './reconcile-folder.ts';
import type { SearchIndex } from './search-index.ts';

/** One path that changed, or the source and the target of a move. */
export type ChangedPaths = readonly VirtualPath[];

/** Brings the index in step with changes that were made through us, as far as it covers them. Safe to repeat. @throws AppError of the index */
export async function applyChanges(index: SearchIndex, snapshot: Snapshot, changes: Iterable<ChangedPaths>): Promise<void> {
  const scope = indexScope(snapshot);
  const { generation, mounts } = await index.readState();
  if (!mounts) return;
  let refusal: AppError | undefined;
  for (const paths of changes) {
    const [source, target] = paths;
    if (source !== undefined && target !== undefined && (await applyMove(source, target))) continue;
    for (const path of paths) await applyChange(path);
  }
  if (refusal) throw refusal;

  async function applyMove(source: VirtualPath, target: VirtualPath): Promise<boolean> {
    if (!(await index.findFolder(source)) || (await index.findFolder(target))) return false;
    const above = await index.findFolder(parentPath(target));
    if (!above || above.depth === 0 || isLeftOut(target)) return false;
    const [before, after] = [await look(source), await look(target)];
    if (before !== 'gone' || after === 'gone' || after === 'unknown' || !after.isDirectory) return false;
    return index.move(source, target);
  }

  async function applyChange(path: VirtualPath): Promise<void> {
    const changed = baseName(path) === undefined ? undefined : await nearestFolder(index, parentPath(path));
    if (!changed || isLeftOut(path)) return;
    // Folders that were made on the way are new to the index: the topmost brings the others.
    const name = pathSegments(path)[pathSegments(changed.path).length];
    if (name === undefined) return;
    const top = childPath(changed.path, name);
    const entry = await look(top);
    if (entry === 'unknown') return;
    if (entry === 'gone') return index.remove(changed.path, [name]);
    const isKnown = entry.isDirectory && (await index.findFolder(top)) !== undefined;
    try {
      await index.put(changed.path, [toIndexed(entry)], generation);
    } catch (error) {
      if (!AppError.is(error, 'QUOTA_EXCEEDED')) throw error;
      // What is gone still goes, which makes room.
      refusal = error;
      return;
    }
    if (isKnown) await index.requeue(top, generation, false);
  }

  function isLeftOut(path: VirtualPath): boolean {
    if (scope.isLeftOut(path)) return true;
    const located = snapshot.table.mounts.find(({ mountedAt }) => mountedAt === '/');
    return (
      located !== undefined &&
      scope.isMountLeftOut(located.mountedAt) &&
      !snapshot.table.mounts.some((each) => each.mountedAt !== '/' && isWithin(each.mountedAt, path))
    );
  }

  async function look(path: VirtualPath): Promise<Entry | 'gone' | 'unknown'> {
    try {
      return (await getEntry(snapshot, path)).entry;
    } catch (error) {
      if (AppError.is(error, 'ENTRY_NOT_FOUND') || AppError.is(error, 'MOUNT_NOT_FOUND')) return 'gone';
      if (AppError.is(error)) return 'unknown';
      throw error;
    }
  }
}
