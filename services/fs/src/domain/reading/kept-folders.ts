import { forgettable, ownText } from '@wharf/pace';
import { baseName, type EntryName, parentPath, type VirtualPath } from '@wharf/paths';
import { LRUCache } from 'lru-cache';
import type { Entry } from '../../driver-contract/storage-driver.ts';
import { PathTree, wayBytes } from '../access/path-tree.ts';
import type { Folder, ListedEntries } from './listed-entries.ts';

/** What all folders together keep at most, in bytes. */
const MAX_KEPT_BYTES = 40 * 1024 * 1024;
/** What a folder takes at least, a name in a list beside its text, and a change of one. */
const [FOLDER_BYTES, NAME_BYTES, CHANGE_BYTES] = [1_024, 40, 64];
/** A letter of a folder's path, which several hold. */
const PATH_BYTES = 4;

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
  /** The same as `now` told it. */
  readonly begunAt: number;
  /** When a change of a name, or of what is below it, was heard of last, as `now` told it. Other names did not change since. */
  readonly changedAt: Map<EntryName, number>;
}

/** What a change made of an entry. */
export interface Taken {
  /** Of the folder that it is in. */
  readonly key: string;
  readonly path: VirtualPath;
  readonly entry: Entry | undefined;
  /** What `now` told before the change began. */
  readonly since: number;
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
  /** Another number each time, higher than all before. */
  now(): number;
  /** As FolderCache.take(). @returns whether the folder is kept, and shows what is in it */
  take(taken: Taken): boolean;
}

export function createKeptFolders(): KeptFolders {
  const kept = forgettable(
    new LRUCache<string, KeptNames | KeptEntries>({
      maxSize: MAX_KEPT_BYTES,
      sizeCalculation: (value, key) => bytesOf(value) + PATH_BYTES * key.length + wayBytes(key),
      // What is told of after the removal is gathered before: of all at once, by a list that takes a second to go through.
      dispose: (_value, key, reason) => reason === 'set' || unplace(key, false),
    }),
  );
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
  const unplace = (key: string, isKept = kept.has(key)): void => {
    if (isKept || loading.has(key)) return;
    const at = treePathOf(key);
    const keys = places.get(at);
    keys?.delete(key);
    if (keys?.size === 0) places.delete(at);
  };
  const keep = (key: string, value: KeptNames | KeptEntries): void => {
    kept.set(key, value);
    // What is too big is not kept.
    if (kept.has(key)) place(key);
    else unplace(key, false);
  };
  const dropLoading = (key: string): void => {
    if (loading.delete(key)) unplace(key);
  };
  let moment = 0;
  const now = () => {
    moment += 1;
    return moment;
  };
  /** @param spared the folder of the path; it stays. */
  const forgetAbove = (path: VirtualPath, obsolete: string[], spared?: string): void => {
    for (const { name, value: keys, length } of places.steps(path)) {
      for (const key of keys ?? []) {
        // A listing that is on its way may not show the way to the path either.
        dropLoading(key);
        const known = kept.peek(key);
        const folder = known && ('entries' in known ? known.entries : known.folder);
        const isOnTheWay = length < path.length && folder?.isDirectory(name as EntryName);
        // A part of a long path would keep all of it, for each folder below which something changed.
        if (known && 'entries' in known && (isOnTheWay || key === spared)) known.changedAt.set(ownText(name) as EntryName, now());
        else if (folder && !isOnTheWay) obsolete.push(key);
      }
    }
  };
  /** @param spared the folder of the only path; it stays. */
  const forget = (paths: readonly VirtualPath[], spared?: string): void => {
    const obsolete = places.takeBelowEach(paths).flatMap((keys) => [...keys]);
    // For the folders above it is the same which of the entries of one changed.
    for (const [one] of Map.groupBy(paths, parentPath).values()) if (one !== undefined) forgetAbove(one, obsolete, spared);
    for (const key of obsolete) {
      dropLoading(key);
      kept.delete(key);
    }
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
    forget: (paths) => forget(paths),
    now,
    take({ key, path, entry, since }) {
      const name = baseName(path);
      const known = kept.peek(key);
      // A listing that began after the change did may be newer than its outcome; and who of two that overlap came last is not known.
      const isSure = known && 'entries' in known && name !== undefined && known.begunAt < since && (known.changedAt.get(name) ?? 0) < since;
      const isSpelled = entry === undefined || entry.name === name;
      if (!isSure || !isSpelled) {
        forget([path]);
        return false;
      }
      forget([path], key);
      known.entries.change(name, entry);
      // An empty folder is never kept. What is kept is weighed anew.
      if (known.entries.count === 0) kept.delete(key);
      else keep(key, { ...known });
      return kept.has(key);
    },
  };
}

function bytesOf(value: KeptNames | KeptEntries): number {
  if ('entries' in value) return FOLDER_BYTES + value.entries.bytes + CHANGE_BYTES * value.changedAt.size;
  return FOLDER_BYTES + value.folder.names.reduce((sum, name) => sum + NAME_BYTES + name.length, 0);
}

/** The path in the file tree that a key stands for. */
export function treePathOf(key: string): VirtualPath {
  return key.slice(key.indexOf(' ') + 1) as VirtualPath;
}
