import { baseName, isWithin, parentPath, relativeTo, type VirtualPath } from '@wharf/paths';
import { type NewTask, SHORT_TASK_BYTES, type TaskCreator } from '@wharf/task-engine';
import type { Item } from '../domain/changing/operations/plan-placement.ts';
import type { Begun } from '../domain/changing/operations/remove-entries.ts';
import type { PlacementInput, Verb } from './placement.ts';
import type { RemovalInput } from './removal-kind.ts';
import { flatteningName, placementName, removalName } from './task-names.ts';

/** Files that one task names, and what their paths may take together, in bytes: they are in one document. */
const MAX_FILES = 2_000;
const MAX_LIST_BYTES = 512 * 1024;
/** What a task of a removal has beside its folder and its list, at most. */
const FORM_BYTES = 150;

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

/** Tasks that give files of one folder other names there: as many as one can name each. None of these names is that of another of the files. */
export function renamingTasks(items: readonly Item[], creator: TaskCreator): NewTask<PlacementInput>[] {
  const [first] = items;
  if (!first) return [];
  const folder = parentPath(first.source);
  const { mount, path } = first.from;
  const name = flatteningName({ mount, path: parentPath(path) }, { mount, path: parentPath(path) });
  const storage = mount.storage._id;
  const pairs = items.map(({ source, target }) => [relativeTo(folder, source), baseName(target) ?? ''] as const);
  return portions(pairs).map((portion) => ({
    name,
    creator,
    input: {
      source: folder,
      target: folder,
      sourceStorage: storage,
      targetStorage: storage,
      conflict: 'refuse',
      files: portion.map(([file]) => file),
      names: portion.map(([, to]) => to),
    },
  }));
}

/**
 * Tasks that remove entries: for each storage and folder, as many as one can name each.
 *
 * @param areShort they name so few that the store needs no room for them
 */
export function removalTasks(doomed: readonly Begun[], creator: TaskCreator, areShort = false): NewTask<RemovalInput>[] {
  const groups = Map.groupBy(doomed, ({ path, located }) => `${located.mount.storage._id} ${parentPath(path)}`);
  return [...groups.values()].flatMap((group) => {
    const [first] = group;
    if (!first) return [];
    const { mount, path } = first.located;
    const folder = { mount, path: parentPath(path) };
    const pairs = group.map((one) => [baseName(one.path) ?? '', one.begun] satisfies [string, string]);
    // The folder is in the name, and in what the task is about.
    const shortBytes = SHORT_TASK_BYTES - 2 * Buffer.byteLength(JSON.stringify(first.path)) - FORM_BYTES;
    return portions(pairs, areShort ? shortBytes : MAX_LIST_BYTES).map((begun) => ({
      name: removalName(
        folder,
        begun.map(([name]) => name),
      ),
      creator,
      input: { folder: parentPath(first.path), storage: mount.storage._id, begun },
    }));
  });
}

/** Lists of paths or names, each small enough for one task. */
function portions<Item>(items: readonly Item[], maxBytes = MAX_LIST_BYTES): Item[][] {
  const lists: Item[][] = [];
  let bytes = 0;
  for (const item of items) {
    const size = Buffer.byteLength(JSON.stringify(item)) + 1;
    const last = lists.at(-1);
    if (last && last.length < MAX_FILES && bytes + size <= maxBytes) {
      last.push(item);
      bytes += size;
    } else {
      lists.push([item]);
      bytes = size;
    }
  }
  return lists;
}
