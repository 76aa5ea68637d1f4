import type { RuleRecord } from '@wharf/models';
import type { EntryName, VirtualPath } from '@wharf/paths';
import type { Actor } from '../access/permissions.ts';

/** What the index keeps of an entry. */
export interface IndexedEntry {
  readonly name: EntryName;
  readonly isDirectory: boolean;
  /** 0 where the storage does not tell. */
  readonly sizeBytes: number;
  /** For `put` only: a folder that stands in for another place is not entered. */
  readonly isLink?: true;
}

/** A folder whose entries the index has, or is to have. */
export interface IndexedFolder {
  readonly path: VirtualPath;
  /** How many levels below it are indexed; 0: not even its own entries; NO_DEPTH_LIMIT: all. */
  readonly depth: number;
}

export const NO_DEPTH_LIMIT = -1;

export type SearchScope = 'all' | 'folders' | 'files';

/** Whoever searches: only what the viewer may see is found and counted. */
export interface Viewer {
  readonly actor: Actor;
  /** For folders whose rule wants one. */
  readonly password: string;
  /** All rules. The same list stands for the same rules. */
  readonly rules: readonly RuleRecord[];
}

export interface SearchQuery {
  /** As `parseKeywords` makes them; each must be in the name. None: every name. */
  readonly words: readonly string[];
  readonly scope: SearchScope;
  /** Only what is below this folder. */
  readonly parent: VirtualPath;
  /** From 1. */
  readonly page: number;
  /** From 1. */
  readonly perPage: number;
  readonly viewer: Viewer;
}

export interface SearchHit extends IndexedEntry {
  readonly parent: VirtualPath;
}

export interface SearchAnswer {
  /** Of the wanted page, by name, then by folder, both in the order of their bytes. */
  readonly hits: readonly SearchHit[];
  /** On all pages. */
  readonly total: number;
}

/** The folders of one storage: its place and all below it, but for what is at and below other places. */
export interface Territory {
  readonly place: VirtualPath;
  readonly without: readonly VirtualPath[];
}

/** What an admin ordered. */
export interface IndexJob {
  readonly kind: 'build' | 'update';
  readonly paths: readonly VirtualPath[];
  /** Levels below each path. */
  readonly depth: number;
  /** Whether the old contents are gone and the paths are queued. */
  readonly isPrepared: boolean;
}

/** What is known of the index as a whole; one record that outlives every process. */
export interface IndexState {
  /** Rises with each change: a change names the one it started from. */
  readonly revision: number;
  /** Folders are queued under this number. Another one makes everything that is queued obsolete. */
  readonly generation: number;
  readonly job: IndexJob | undefined;
  /** Whether the last job has ended, however it went. */
  readonly isDone: boolean;
  /** Milliseconds since 1970. */
  readonly lastDoneAt: number | undefined;
  /** Why the last job is not complete; empty otherwise. */
  readonly error: string;
  /** Walks that began to read since one had an end: more than one where a process died in one. */
  readonly walks: number;
  /**
   * The mounts that the index knows, by mount path, each with a text that differs for another storage at the same path; undefined before
   * the first job.
   */
  readonly mounts: Readonly<Record<string, string>> | undefined;
}

export const FIRST_STATE: IndexState = {
  revision: 0,
  generation: 1,
  job: undefined,
  isDone: false,
  lastDoneAt: undefined,
  error: '',
  walks: 0,
  mounts: undefined,
};

/** Entries of a folder that an engine answers at a time: of all of a long one it would hold several times their names. */
export const CHILDREN = 5_000;

/**
 * Names of entries by folder, and a durable queue of folders that are to be listed. Every method may run beside every other, also in another
 * process; every change is safe to repeat. Paths are of the whole tree.
 *
 * Methods throw AppError STORAGE_UNAVAILABLE when the index cannot be reached.
 */
export interface SearchIndex {
  /** @throws AppError CANCELLED when the signal is aborted */
  search(query: SearchQuery, signal?: AbortSignal): Promise<SearchAnswer>;
  /** Entries in the index. May take an engine a look at all of them. */
  count(): Promise<number>;

  findFolder(path: VirtualPath): Promise<IndexedFolder | undefined>;
  /**
   * Some thousands of the entries of a folder, and which of them are folders, in an order that is the engine's own.
   *
   * @param after the last of those that came before; none is left where nothing comes
   */
  children(directory: VirtualPath, after?: EntryName): Promise<ReadonlyMap<EntryName, boolean>>;
  /**
   * Adds or replaces entries of a folder. Does nothing when the index does not have the folder. A new folder among the entries is queued,
   * unless its depth is 0 or it is a link. When a folder has become a file, everything below it is removed.
   *
   * @throws AppError QUOTA_EXCEEDED: there is no room for them
   */
  put(directory: VirtualPath, entries: readonly IndexedEntry[], generation: number): Promise<void>;
  /** Removes entries of a folder with everything below them; names that are not there are none. */
  remove(directory: VirtualPath, names: readonly EntryName[]): Promise<void>;
  /**
   * A folder and everything below it got another place. The folder that holds `to` must be in the index, else everything goes.
   * @returns false when the index has no folder at `from`, or something at `to`, or more is to be indexed at `to`: see `depthMoved`; nothing is changed
   * then. False, too, where it was removed meanwhile, or an earlier move of it did not end: its folders are gone from both places then
   */
  move(from: VirtualPath, to: VirtualPath): Promise<boolean>;
  /** Forgets all entries, all folders and the queue; the state stays. Searches may look at every name until `makeFast` has ended. */
  clear(): Promise<void>;
  /** Builds what makes searches fast, for the entries that are there and for later ones. Costs nothing when it is built already. */
  makeFast(): Promise<void>;

  /** Puts a folder into the index and, unless `depth` is 0, into the queue. One that is there gets the depth. */
  openFolder(path: VirtualPath, depth: number, generation: number): Promise<void>;
  /** Queues a folder that the index has, and with `isDeep` all below it too. */
  requeue(path: VirtualPath, generation: number, isDeep: boolean): Promise<void>;
  /** Some of the folders queued under this generation. They stay queued. @param except those of these storages are not asked for */
  queued(generation: number, limit: number, except?: readonly Territory[]): Promise<readonly IndexedFolder[]>;
  /** Takes folders off the queue. */
  settle(paths: readonly VirtualPath[]): Promise<void>;
  /** Takes all folders of one storage off the queue. */
  settleAll(territory: Territory): Promise<void>;

  readState(): Promise<IndexState>;
  /** Stores a state one revision further. @returns false when the stored one is no longer of `next.revision` */
  replaceState(next: IndexState): Promise<boolean>;
  /** Whether `owner` is the one who works on the queue, for the next LEASE_MS at least. */
  claim(owner: string): Promise<boolean>;
  release(owner: string): Promise<void>;
  close(): Promise<void>;
}

/** How long a claim holds, in milliseconds. */
export const LEASE_MS = 20_000;

/** The depth of a folder in a folder of this depth. */
export function depthBelow(depth: number): number {
  return depth === NO_DEPTH_LIMIT ? NO_DEPTH_LIMIT : Math.max(0, depth - 1);
}

/**
 * The depth of a folder that is moved, or is below one that is, whose depth was `before` and would be `after` as a new folder. No folder gets less. Undefined
 * for one whose entries the index does not have: it was as deep as any is indexed, and is that no more, or is a link.
 */
export function depthMoved(depth: number, before: number, after: number): number | undefined {
  const isMore = before !== NO_DEPTH_LIMIT && (after === NO_DEPTH_LIMIT || after > before);
  if (!isMore || depth === NO_DEPTH_LIMIT) return depth;
  if (depth === 0) return undefined;
  return after === NO_DEPTH_LIMIT ? NO_DEPTH_LIMIT : depth + after - before;
}
