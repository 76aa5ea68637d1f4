import { type MountPath, parentPath, pathWeight } from '@wharf/paths';
import { type Entry, type StorageDriver, supports } from '../../driver-contract/storage-driver.ts';

/** Entries below one folder that are held until the walk comes to them: 10 MiB or so; those with long paths count as several. A tree of more is listed folder by folder. */
const MAX_ENTRIES = 20_000;

/** So many trees of that size are held at most: a walk lists a few folders at once. */
const MAX_TREES = 4;

/** What recursive listings told of folders to which a walk has not come yet. */
export interface ListedAhead {
  /**
   * The entries of a folder, each once; with those of all folders below it, which need not be listed then. Undefined where the storage lists folder by
   * folder, or has too much below this one.
   * @throws what the storage throws
   */
  take(driver: StorageDriver, folder: MountPath, signal: AbortSignal): Promise<readonly Entry[] | undefined>;
  /** Something was changed at these paths: what was told before of them, and of the folders above them, may be older. Of any storage. */
  forget(paths: readonly MountPath[]): void;
}

export function createListedAhead(maxEntries = MAX_ENTRIES): ListedAhead {
  const held = new Map<StorageDriver, Map<MountPath, Entry[]>>();
  let heldEntries = 0;
  const hold = (driver: StorageDriver, listed: Map<MountPath, Entry[]>) => {
    // Of folders that are gone nobody asks.
    if (heldEntries > MAX_TREES * maxEntries) held.clear();
    if (held.size === 0) heldEntries = 0;
    const folders = held.get(driver) ?? new Map<MountPath, Entry[]>();
    held.set(driver, folders);
    for (const [path, entries] of listed) {
      heldEntries += weightOf(path, entries);
      folders.set(path, entries);
    }
  };
  const takeHeld = (folders: Map<MountPath, Entry[]> | undefined, folder: MountPath) => {
    const known = folders?.get(folder);
    folders?.delete(folder);
    if (known) heldEntries -= weightOf(folder, known);
    return known;
  };
  return {
    async take(driver, folder, signal) {
      if (!supports(driver, 'listAll')) return undefined;
      const known = takeHeld(held.get(driver), folder);
      if (known) return known;
      const listed = await treeOf(driver, folder, signal, maxEntries);
      const own = listed?.get(folder);
      listed?.delete(folder);
      if (listed) hold(driver, listed);
      return own;
    },
    forget(paths) {
      if (held.values().every(({ size }) => size === 0)) return;
      /** With a folder all above it were passed. */
      const passed = new Set<MountPath>();
      for (const path of paths)
        for (let at = path; !passed.has(at); at = parentPath(at)) {
          passed.add(at);
          for (const folders of held.values()) takeHeld(folders, at);
        }
    },
  };
}

const weightOf = (folder: MountPath, { length }: readonly Entry[]) => pathWeight(folder) * length;

/** The entries of each folder below one, and of itself; undefined for more than so many. */
async function treeOf(
  driver: StorageDriver & Required<Pick<StorageDriver, 'listAll'>>,
  root: MountPath,
  signal: AbortSignal,
  maxEntries: number,
): Promise<Map<MountPath, Entry[]> | undefined> {
  const folders = new Map<MountPath, Entry[]>([[root, []]]);
  let entries = 0;
  for await (const { path, entry } of driver.listAll(root, { signal })) {
    entries += pathWeight(path);
    if (entries > maxEntries) return undefined;
    folders.get(parentPath(path))?.push(entry);
    if (entry.isDirectory && !entry.isLink) folders.set(path, []);
  }
  return folders;
}
