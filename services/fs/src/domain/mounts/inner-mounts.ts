import { AppError } from '@wharf/errors';
import type { StorageRecord } from '@wharf/models';
import { isWithin, joinPath, MOUNT_ROOT, type MountPath, parseVirtualPath, relativeTo, VIRTUAL_ROOT, type VirtualPath } from '@wharf/paths';
import { decorated, operationsOf } from '../../driver-contract/complete-driver.ts';
import { inFolder, type OnChanged } from '../../driver-contract/in-folder.ts';
import type { InnerMountOptions } from '../../driver-contract/open-context.ts';
import type { StorageDriver } from '../../driver-contract/storage-driver.ts';
import { createMountTable, type Located, type MountTable } from './mount-table.ts';

/** A storage that may stand on others, or be stood on. */
export interface Base {
  readonly storage: StorageRecord;
  /** Its files pass through us, whoever shows them. */
  readonly isProxied: boolean;
  /** Its root is nothing but a folder of others, or several. */
  readonly standsOnOthers: boolean;
  /** @throws AppError with what the admin reads */
  open(): Promise<StorageDriver>;
  /** Opens it anew where it was opened: what it stands on is another one. */
  restart(): void;
}

/** Which storages stand on which folders of the tree. */
export interface InnerMounts {
  /**
   * Opens a folder of the tree for a storage that stands on it, until {@link InnerMounts.release}.
   *
   * @param outer undefined for one that is only tried. @param outerId 0 for one that is not saved
   * @throws AppError INVALID_ARGUMENT | FAILED_PRECONDITION (nothing is mounted there; the storage would stand on itself) | STORAGE_UNAVAILABLE
   */
  open(outer: Base | undefined, outerId: number, path: string, options: InnerMountOptions): Promise<StorageDriver>;
  /** What it stood on is nothing to it any more: it is opened anew, or gone. */
  release(outer: Base): void;
  /** The configuration has changed: what stands on another storage than before, or on one that is proxied by now or no more, is opened anew, and what stands on that. */
  applied(bases: readonly Base[]): void;
  /** A storage was opened anew, or could not be opened before: what stands on it is opened anew. */
  reopened(base: Base): void;
  /**
   * Where else in the tree changes at these paths show. @param isSame only the places that show what is at a path, and all of it: not a storage in which it
   * may show anywhere
   */
  readonly shownAt: ShownAt;
}

export type ShownAt = (paths: readonly VirtualPath[], isSame?: boolean) => readonly VirtualPath[];

interface Standing extends InnerMountOptions {
  readonly path: VirtualPath;
  readonly located: Located<Base> | undefined;
  /** As of the time when it was opened: what is proxied tells no addresses. */
  readonly isProxied: boolean;
}

/** @param onChanged told of what was changed through storages that stand on others, where it is, as `inFolder` tells it */
export function createInnerMounts(onChanged: (paths: readonly VirtualPath[], isAnother: boolean) => void): InnerMounts {
  const standings = new Map<Base, Standing[]>();
  let bases: readonly Base[] = [];
  let known: MountTable<Base> | undefined;

  const table = (): MountTable<Base> => {
    known ??= createMountTable(
      bases.map(({ storage }) => storage),
      ({ _id }) => bases.find(({ storage }) => storage._id === _id) as Base,
    );
    return known;
  };
  /** The mount paths on the way from a storage to one that it stands on. */
  const wayTo = (id: number, from: Base, seen = new Set<number>()): string[] | undefined => {
    const { _id, mount_path } = from.storage;
    if (_id === id) return [mount_path];
    if (seen.has(_id)) return undefined;
    seen.add(_id);
    for (const { located } of standingsOf(_id)) {
      const way = located && wayTo(id, located.mount, seen);
      if (way) return [mount_path, ...way];
    }
    return undefined;
  };
  /** Of one that is replaced at this moment both may stand on something. */
  const standingsOf = (id: number) => [...standings].flatMap(([base, own]) => (base.storage._id === id ? own : []));
  const stand = (outer: Base, standing: Standing) => {
    const others = (standings.get(outer) ?? []).filter(({ path, shownAt }) => path !== standing.path || shownAt !== standing.shownAt);
    standings.set(outer, [...others, standing]);
  };
  const restart = (changed: readonly Base[]) => {
    const again = new Set(changed);
    for (const base of again)
      for (const [outer, own] of standings) if (own.some(({ located }) => located?.mount === base)) again.add(outer);
    for (const base of again) base.restart();
  };

  return {
    async open(outer, outerId, raw, options) {
      const path = parseVirtualPath(raw);
      const located = table().locate(path);
      const isProxied = located?.mount.isProxied === true;
      if (outer) stand(outer, { ...options, path, located, isProxied });
      if (!located) throw new AppError('FAILED_PRECONDITION', `no storage is mounted at ${path}`);
      const { mount, mountedAt } = located;
      const way = outerId === 0 ? undefined : wayTo(outerId, mount);
      if (way) throw new AppError('FAILED_PRECONDITION', `the storage stands on itself: ${[way.at(-1), ...way].join(' -> ')}`);
      const driver = await mount.open().catch((error: unknown) => {
        const { message } = AppError.from(error);
        throw new AppError('STORAGE_UNAVAILABLE', `the storage at ${mountedAt} does not work: ${message}`, { cause: error });
      });
      const tell: OnChanged = (changed, isAnother) =>
        onChanged(
          changed.map((each) => inTree(mountedAt, each)),
          isAnother,
        );
      return inFolder(isProxied ? withoutLinks(driver) : driver, located.path, tell, mount.standsOnOthers);
    },
    release: (outer) => void standings.delete(outer),
    applied(next) {
      bases = next;
      known = undefined;
      const isSame = ({ path, located, isProxied }: Standing) => {
        const now = located ? table().locate(path, located) : table().locate(path);
        if (now?.mountedAt !== located?.mountedAt) return false;
        return located === undefined || (bases.includes(located.mount) && located.mount.isProxied === isProxied);
      };
      restart([...standings].flatMap(([outer, own]) => (bases.includes(outer) && !own.every(isSame) ? [outer] : [])));
    },
    reopened: (base) =>
      restart([...standings].flatMap(([outer, own]) => (own.some(({ located }) => located?.mount === base) ? [outer] : []))),
    shownAt(paths, isSame = false) {
      if (standings.size === 0) return [];
      const shown = new Set(paths);
      for (const path of shown)
        for (const [outer, own] of standings) for (const each of own) for (const at of showing(outer, each, path, isSame)) shown.add(at);
      return [...shown].slice(paths.length);
    },
  };

  /** Where a storage that stands on a folder shows a change at a path. */
  function showing(outer: Base, standing: Standing, changed: VirtualPath, isSame: boolean): VirtualPath[] {
    const { path: folder, keepsNames, shownAt, located } = standing;
    const isInside = isWithin(folder, changed);
    if (!isInside && !isWithin(changed, folder)) return [];
    if (isSame && !keepsNames && isInside && changed !== folder) return [];
    // What is mounted further down is not seen through it.
    if (isInside && table().locate(changed, located)?.mountedAt !== located?.mountedAt) return [];
    const below = isInside && keepsNames ? relativeTo(folder, changed) : MOUNT_ROOT;
    const shown = isInside && shownAt ? inTree(inTree(VIRTUAL_ROOT, shownAt), below) : inTree(VIRTUAL_ROOT, below);
    return table().mounts.flatMap(({ mount, mountedAt }) => (mount === outer ? [joinPath(mountedAt, shown)] : []));
  }
}

function withoutLinks(driver: StorageDriver): StorageDriver {
  return decorated({ ...operationsOf(driver), link: undefined });
}

function inTree(mountedAt: VirtualPath, path: MountPath): VirtualPath {
  return joinPath(mountedAt, path as string as VirtualPath);
}
