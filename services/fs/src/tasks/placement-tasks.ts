import { isWithin, parentPath, relativeTo, type VirtualPath } from '@wharf/paths';
import type { NewTask, TaskCreator } from '@wharf/task-engine';
import type { Item } from '../domain/changing/operations/plan-placement.ts';
import type { PlacementInput, Verb } from './placement.ts';
import { flatteningName, placementName } from './task-names.ts';

/** Files that one task names, and what their paths may take together, in bytes: they are in one document. */
const MAX_FILES = 2_000;
const MAX_LIST_BYTES = 512 * 1024;

/** One task for each entry. */
export function placementTasks(verb: Verb, items: readonly Item[], creator: TaskCreator): NewTask<PlacementInput>[] {
  return items.map(({ source, target, entry, from, to, conflict }) => ({
    name: placementName(conflict === 'keep' ? 'merge' : verb, from, to),
    creator,
    input: { source, target, sourceStorage: from.mount.storage._id, targetStorage: to.mount.storage._id, conflict },
    totalBytes: entry.isDirectory ? 0 : (entry.sizeBytes ?? 0),
  }));
}

/** Tasks that move files from below a folder directly into another: for each pair of storages, each way with names that are taken, and for as many files as one can name. */
export function flatteningTasks(root: VirtualPath, items: readonly Item[], creator: TaskCreator): NewTask<PlacementInput>[] {
  const tasks: NewTask<PlacementInput>[] = [];
  // Of several with one name the last would stay: the others are left where they are.
  const last = new Map(items.map((item) => [item.target, item]));
  for (const group of Map.groupBy(last.values(), groupKey).values()) {
    const [first] = group;
    if (!first) continue;
    const { from, to, conflict } = first;
    // What is mounted below the folder begins at its own root.
    const source = isWithin(from.mountedAt, root) ? root : from.mountedAt;
    const target = parentPath(first.target);
    const name = flatteningName(
      { mount: from.mount, path: relativeTo(from.mountedAt, source) },
      { mount: to.mount, path: relativeTo(to.mountedAt, target) },
    );
    const input = { source, target, sourceStorage: from.mount.storage._id, targetStorage: to.mount.storage._id, conflict };
    for (const files of portions(group.map((item) => relativeTo(source, item.source))))
      tasks.push({ name, creator, input: { ...input, files } });
  }
  return tasks;
}

function groupKey({ from, to, target, conflict }: Item): string {
  return `${conflict} ${from.mount.storage._id} ${to.mount.storage._id} ${parentPath(target)}`;
}

/** Lists of paths, each small enough for one task. */
function portions(paths: readonly string[]): string[][] {
  const lists: string[][] = [];
  let bytes = 0;
  for (const path of paths) {
    const size = Buffer.byteLength(JSON.stringify(path)) + 1;
    const last = lists.at(-1);
    if (last && last.length < MAX_FILES && bytes + size <= MAX_LIST_BYTES) {
      last.push(path);
      bytes += size;
    } else {
      lists.push([path]);
      bytes = size;
    }
  }
  return lists;
}
