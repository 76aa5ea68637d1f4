import type { Pace } from '@wharf/pace';
import type { EntryName, VirtualPath } from '@wharf/paths';
import { LRUCache } from 'lru-cache';
import type { Entry } from '../../driver-contract/storage-driver.ts';
import { PathTree } from '../access/path-tree.ts';
import type { EntryOrder } from './sort-entries.ts';

/** The entries of one folder of a storage in the order of its listing; looked at only as far as somebody asks. */
export interface Folder {
  readonly names: readonly EntryName[];
  isDirectory(name: EntryName): boolean;
  /** In the order of the names given; what is gone meanwhile is left out. */
  entries(names: readonly EntryName[], signal: AbortSignal | undefined): Promise<readonly Entry[]>;
}

/** The entries of a folder; sorted once for an order that is asked for again and again. */
export interface ListedEntries {
  readonly count: number;
  isDirectory(name: EntryName): boolean;
  inOrder(order: EntryOrder, pace: Pace): Promise<Folder>;
}

/** All folders together keep at most this many entries (about 200 bytes each). */
const MAX_KEPT_ENTRIES = 400_000;
/** Names under their version, in one order. */
export interface KeptNames {
  readonly version: string;
  readonly folder: Folder;
  readonly order: string;
}

/** Everything that a driver listed. */
export interface KeptEntries {
  readonly entries: ListedEntries;
  /** When the listing began, by the clock. */
  readonly readAt: number;
}

/** What is kept of folders and what is on its way, under keys that end with the folder's place in the tree. */
export interface KeptFolders {
  get(key: string): KeptNames | KeptEntries | undefined;
  /** What is too big is not kept. */
  keep(key: string, value: KeptNames | KeptEntries): void;
  drop(key: string): void;
  /** What others may join: nothing made it obsolete since it began. */
  loading(key: string): Promise<ListedEntries> | undefined;
  beginLoading(key: string, load: Promise<ListedEntries>): void;
  endLoading(key: string): void;
  /** As FolderCache.forget(). */
  forget(paths: readonly VirtualPath[]): void;
}

export function createKeptFolders(): KeptFolders {
  const kept = new LRUCache<string, KeptNames | KeptEntries>({
    maxSize: MAX_KEPT_ENTRIES,
    sizeCalculation: (value) => 1 + ('entries' in value ? value.entries.count : value.folder.names.length),
    disposeAfter: (_value, key) => unplace(key),
  });
  /** Only what nothing made obsolete since it began: nobody else may join the others, and they are not kept. */
  const loading = new Map<string, Promise<ListedEntries>>();
  /** The keys of both by their place in the tree: a change costs what it touches. */
  const places = new PathTree<Set<string>>();
  const place = (key: string): void => {
    const at = treePathOf(key);
    const keys = places.get(at);
    if (keys) keys.add(key);
    else places.set(at, new Set([key]));
  };
  const unplace = (key: string): void => {
    if (kept.has(key) || loading.has(key)) return;
    const at = treePathOf(key);
    const keys = places.get(at);
    keys?.delete(key);
    if (keys?.size === 0) places.delete(at);
  };
  const keep = (key: string, value: KeptNames | KeptEntries): void => {
    kept.set(key, value);
    // What is too big is not kept.
    if (kept.has(key)) place(key);
  };
  const dropLoading = (key: string): void => {
    if (loading.delete(key)) unplace(key);
  };
  return {
    get: (key) => kept.get(key),
    keep,
    drop: (key) => void kept.delete(key),
    loading: (key) => loading.get(key),
    beginLoading(key, load) {
      loading.set(key, load);
      place(key);
    },
    endLoading: dropLoading,
    forget(paths) {
      for (const path of paths) {
        const obsolete = [...places.below(path)].flatMap((keys) => [...keys]);
        for (const { name, value: keys, length } of places.steps(path)) {
          for (const key of keys ?? []) {
            // A listing that is on its way may not show the way to the path either.
            dropLoading(key);
            const known = kept.peek(key);
            const folder = known && ('entries' in known ? known.entries : known.folder);
            if (length === path.length || (folder && !folder.isDirectory(name as EntryName))) obsolete.push(key);
          }
        }
        for (const key of obsolete) {
          dropLoading(key);
          kept.delete(key);
        }
      }
    },
  };
}

/** The path in the file tree that a key stands for. */
export function treePathOf(key: string): VirtualPath {
  return key.slice(key.indexOf(' ') + 1) as VirtualPath;
}
