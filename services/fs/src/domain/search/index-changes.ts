import { AppError } from '@wharf/errors';
import { baseName, childPath, isWithin, parentPath, pathSegments, VIRTUAL_ROOT, type VirtualPath } from '@wharf/paths';
import type { Snapshot } from '../snapshot/snapshot.ts';
import { createBoundedLooks } from './bounded-looks.ts';
import { topmostGone } from './gone-folders.ts';
import { indexScope } from './index-scope.ts';
import { nearestFolder } from './index-walker.ts';
import { toIndexed } from './reconcile-folder.ts';
import type { SearchIndex } from './search-index.ts';

/** One path that changed, or the source and the target of a move. Twice one path: what was there went away, so that another folder may be there by now. */
export type ChangedPaths = readonly VirtualPath[];

/**
 * Brings the index in step with changes that were made through us, as far as it covers them. Safe to repeat. Where a storage does not
 * tell of one, or not in time, folders of what changed in it are queued.
 *
 * @param options.lateMs another time is given by tests only. @param options.onFailure is told of a change that the index has not taken; the others follow
 * unless it throws. Absent: the first failure is the last
 * @throws AppError of the index
 */
export async function applyChanges(
  index: SearchIndex,
  snapshot: Snapshot,
  changes: Iterable<ChangedPaths>,
  { lateMs, onFailure }: { lateMs?: number; onFailure?: (paths: ChangedPaths, error: unknown) => void } = {},
): Promise<void> {
  const isLeftOut = leftOut(snapshot);
  const { generation, mounts } = await index.readState();
  if (!mounts) return;
  let refusal: AppError | undefined;
  const { at: look } = createBoundedLooks(snapshot, lateMs);
  let last: { readonly folder: VirtualPath; readonly nearest: Awaited<ReturnType<typeof nearestFolder>>; isThere?: boolean } | undefined;
  for (const paths of changes) {
    // What moves may be above it.
    if (new Set(paths).size > 1) last = undefined;
    try {
      await apply(paths);
    } catch (error) {
      if (!onFailure) throw error;
      onFailure(paths, error);
    }
  }
  if (refusal) throw refusal;

  async function apply(paths: ChangedPaths): Promise<void> {
    const [source, target] = paths;
    if (source !== undefined && target !== undefined && source !== target && (await applyMove(source, target))) return;
    // What is at an end of a move by now may be another folder than the one that the index knows there: all of it is looked at.
    for (const path of new Set(paths)) await applyChange(path, paths.length > 1);
  }

  async function applyMove(source: VirtualPath, target: VirtualPath): Promise<boolean> {
    if (!(await index.findFolder(source)) || (await index.findFolder(target))) return false;
    const above = await index.findFolder(parentPath(target));
    if (!above || above.depth === 0 || isLeftOut(target)) return false;
    const [before, after] = [await look(source), await look(target)];
    if (before !== 'gone' || after === 'gone' || AppError.is(after) || !after.isDirectory) return false;
    return index.move(source, target);
  }

  /** What changes of one folder do to the index is below the nearest that it has: that one stays, and is looked for once. */
  async function nearestAbove(folder: VirtualPath): ReturnType<typeof nearestFolder> {
    if (last?.folder !== folder) last = { folder, nearest: await nearestFolder(index, folder) };
    return last.nearest;
  }

  async function applyChange(path: VirtualPath, isAnother: boolean): Promise<void> {
    if (path === VIRTUAL_ROOT) return index.requeue(path, generation, false);
    const changed = await nearestAbove(parentPath(path));
    if (!changed || isLeftOut(path)) return;
    // Folders that were made on the way are new to the index: the topmost brings the others.
    const name = pathSegments(path)[pathSegments(changed.path).length];
    if (name === undefined) return;
    const top = childPath(changed.path, name);
    const entry = await look(top);
    if (AppError.is(entry)) {
      // The folder may be known already, and what is new be in it.
      await index.requeue(changed.path, generation, false);
      await index.requeue(top, generation, isAnother);
      return;
    }
    if (entry === 'gone') return drop(top);
    const isKnown = entry.isDirectory && (await index.findFolder(top)) !== undefined;
    try {
      await index.put(changed.path, [toIndexed(entry)], generation);
    } catch (error) {
      if (!AppError.is(error, 'QUOTA_EXCEEDED')) throw error;
      // What is gone still goes, which makes room.
      refusal = error;
      return;
    }
    if (isKnown) await index.requeue(top, generation, isAnother);
  }

  /** Of many that are gone from one folder, it is looked at once. */
  async function drop(path: VirtualPath): Promise<void> {
    const changed = last;
    const gone = await topmostGone(path, async (folder) => {
      if (!changed || folder !== changed.nearest?.path) return (await look(folder)) !== 'gone';
      changed.isThere ??= (await look(folder)) !== 'gone';
      return changed.isThere;
    });
    const name = baseName(gone);
    if (name !== undefined) await index.remove(parentPath(gone), [name]);
    if (gone !== path) last = undefined;
  }
}

/** What belongs not into the index, with the whole storage at the root if that does not. */
function leftOut(snapshot: Snapshot): (path: VirtualPath) => boolean {
  const scope = indexScope(snapshot);
  const { mounts } = snapshot.table;
  const isRootLeftOut = scope.isMountLeftOut(VIRTUAL_ROOT) && mounts.some(({ mountedAt }) => mountedAt === VIRTUAL_ROOT);
  return (path) =>
    scope.isLeftOut(path) || (isRootLeftOut && !mounts.some((each) => each.mountedAt !== VIRTUAL_ROOT && isWithin(each.mountedAt, path)));
}
