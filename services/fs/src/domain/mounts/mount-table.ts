import type { StorageRecord } from '@wharf/models';
import { baseName, compareNames, type EntryName, type MountPath, mountPlace, parentPath, relativeTo, type VirtualPath } from '@wharf/paths';
import { PathTree } from '../access/path-tree.ts';

/** A folder that is there because a storage is mounted at it or below it. */
export interface VirtualFolder {
  readonly name: EntryName;
  readonly modifiedAt: Date;
}

/** Where a path of the tree lies. */
export interface Located<Mount> {
  readonly mount: Mount;
  /** The mount's own place in the tree. */
  readonly mountedAt: VirtualPath;
  readonly path: MountPath;
}

/** Which storage covers which path. Immutable: another configuration is another table. */
export interface MountTable<Mount> {
  /**
   * The storage with the longest mount path that covers `path`, by whole segments; of several at one place each in turn.
   *
   * @param beside what the same operation located before: it stays with that storage where both are mounted at one place.
   */
  locate(path: VirtualPath, beside?: Located<Mount>): Located<Mount> | undefined;
  /** Folders directly below `directory` that mounts make, by `order` and mount path of their storages. */
  virtualFolders(directory: VirtualPath): readonly VirtualFolder[];
  /** The folder that a mount makes at exactly this path. */
  findVirtualFolder(path: VirtualPath): VirtualFolder | undefined;
  /** True for the root, for every mount point and every folder above one: they are configuration and cannot be renamed or removed. */
  isProtected(path: VirtualPath): boolean;
  /** Whether a storage is mounted at exactly this place. */
  isMountPoint(path: VirtualPath): boolean;
  readonly isEmpty: boolean;
  /** Every mount with its place; several may have one place. */
  readonly mounts: ReadonlyArray<{ readonly mountedAt: VirtualPath; readonly mount: Mount }>;
}

function byOrder(left: StorageRecord, right: StorageRecord): number {
  return left.order - right.order || compareNames(left.mount_path, right.mount_path);
}

/** @param storages enabled ones in any order, whose mount paths are places. @param mountOf what locate() answers for a storage. */
export function createMountTable<Mount>(storages: readonly StorageRecord[], mountOf: (storage: StorageRecord) => Mount): MountTable<Mount> {
  const places = new PathTree<{ mountedAt: VirtualPath; mounts: Mount[]; turn: number }>();
  const mounts: { mountedAt: VirtualPath; mount: Mount }[] = [];
  const folders = new Map<string, Map<EntryName, VirtualFolder>>();
  for (const storage of storages.toSorted(byOrder)) {
    const place = mountPlace(storage.mount_path);
    const known = places.get(place);
    const mount = mountOf(storage);
    mounts.push({ mountedAt: place, mount });
    if (known) known.mounts.push(mount);
    else places.set(place, { mountedAt: place, mounts: [mount], turn: 0 });
    for (let at = place; at !== '/'; at = parentPath(at)) {
      const parent = parentPath(at);
      const name = baseName(at);
      const siblings = folders.get(parent) ?? new Map<EntryName, VirtualFolder>();
      folders.set(parent, siblings);
      // The storage mounted right here dates the folder; else the first one below it.
      if (name !== undefined && (at === place || !siblings.has(name))) siblings.set(name, { name, modifiedAt: storage.modified });
    }
  }

  return {
    locate(path, beside) {
      const place = places.nearest(path);
      if (!place) return undefined;
      const { mountedAt } = place;
      if (beside?.mountedAt === mountedAt) return { ...beside, path: relativeTo(mountedAt, path) };
      const mount = place.mounts[place.turn % place.mounts.length];
      place.turn = (place.turn + 1) % place.mounts.length;
      return mount === undefined ? undefined : { mount, mountedAt, path: relativeTo(mountedAt, path) };
    },
    virtualFolders: (directory) => [...(folders.get(directory)?.values() ?? [])],
    findVirtualFolder(path) {
      const name = baseName(path);
      return name === undefined ? undefined : folders.get(parentPath(path))?.get(name);
    },
    isMountPoint: (path) => places.get(path) !== undefined,
    isProtected: (path) => path === '/' || places.has(path),
    isEmpty: mounts.length === 0,
    mounts,
  };
}
