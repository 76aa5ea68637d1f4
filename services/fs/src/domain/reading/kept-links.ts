import { forgettable } from '@wharf/pace';
import type { MountPath, VirtualPath } from '@wharf/paths';
import { LRUCache } from 'lru-cache';
import { type DirectLink, type LinkOptions, type StorageDriver, supports } from '../../driver-contract/storage-driver.ts';
import { PathTree, wayBytes } from '../access/path-tree.ts';

/**
 * The storages' own addresses of files. Whoever asks for one has been found to have the right to the file: what is kept is the same for all, and what
 * serves one client alone is not kept.
 */
export interface KeptLinks {
  /**
   * An address of a file, kept or asked for; undefined where the storage has none.
   *
   * @param path the file in the whole tree: whatever changes there, or above it, forgets the address.
   * @throws what the driver's `link` throws
   */
  find(driver: StorageDriver, place: MountPath, path: VirtualPath, options: LinkOptions): Promise<DirectLink | undefined>;
  /** Entries changed at these paths. */
  forget(paths: readonly VirtualPath[]): void;
}

/** So many are kept, which take so many bytes together. */
const [MAX_KEPT, MAX_KEPT_BYTES] = [10_000, 16 * 1024 * 1024];
/** What one takes beside its address, and a letter of its path, which several hold. */
const [LINK_BYTES, PATH_BYTES] = [512, 2];
/** What is given away can still be used so long, in milliseconds: a client has to begin with it. */
const MIN_LEFT_MS = 60_000;

interface Kept {
  /** Of one opening of a storage: with other settings it may be another place, or another login. */
  readonly driver: WeakRef<StorageDriver>;
  readonly link: DirectLink;
  readonly expiresAt: Date;
}

/** @param clock milliseconds since 1970, by this machine: so are the ends of links, which drivers sign, or read in answers of others. */
export function createKeptLinks(clock: () => number): KeptLinks {
  const paths = new PathTree<VirtualPath>();
  const kept = forgettable(
    new LRUCache<VirtualPath, Kept>({
      max: MAX_KEPT,
      maxSize: MAX_KEPT_BYTES,
      sizeCalculation: ({ link }, path) => LINK_BYTES + link.url.length + PATH_BYTES * path.length + wayBytes(path),
      // As of kept folders.
      dispose: (_link, path, reason) => reason === 'set' || paths.delete(path),
    }),
  );
  let changes = 0;
  const isFresh = (expiresAt: Date) => expiresAt.getTime() - clock() > MIN_LEFT_MS;
  return {
    async find(driver, place, path, options) {
      if (!supports(driver, 'link')) return undefined;
      const known = kept.get(path);
      if (known && known.driver.deref() === driver && isFresh(known.expiresAt)) return known.link;
      const before = changes;
      const link = await driver.link(place, options);
      // One that was on its way during a change may be of what was there before; one that names no end may end at any time.
      if (changes === before && !link.isForClient && link.expiresAt && isFresh(link.expiresAt)) {
        kept.set(path, { driver: new WeakRef(driver), link, expiresAt: link.expiresAt });
        if (kept.has(path)) paths.set(path, path);
        else paths.delete(path);
      }
      return link;
    },
    forget(changed) {
      changes += 1;
      for (const inner of paths.takeBelowEach(changed)) kept.delete(inner);
    },
  };
}
