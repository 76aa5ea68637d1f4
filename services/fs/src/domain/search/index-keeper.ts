import { AppError } from '@wharf/errors';
import { parentPath, parseVirtualPath, type VirtualPath } from '@wharf/paths';
import { LRUCache } from 'lru-cache';
import type { ChangeNotes } from '../changing/changes.ts';
import type { FolderCache, OnListed } from '../reading/folder-cache.ts';
import type { Snapshot } from '../snapshot/snapshot.ts';
import { applyChanges, type ChangedPaths } from './index-changes.ts';
import { clearIndex, startJob, stopJob } from './index-jobs.ts';
import { indexScope } from './index-scope.ts';
import { createIndexWalker } from './index-walker.ts';
import type { SearchIndex } from './search-index.ts';

/** How far indexing is, in the family's words. */
export interface IndexProgress {
  readonly obj_count: number;
  readonly is_done: boolean;
  /** RFC 3339. */
  readonly last_done_time: string | null;
  readonly error: string;
}

export interface IndexKeeperOptions {
  readonly snapshot: () => Promise<Snapshot>;
  readonly folderCache: () => FolderCache;
  /** Called when the index is first needed, and again after it failed. */
  readonly openIndex: () => Promise<SearchIndex>;
  /** Tells this process from every other that shares the index. */
  readonly owner: string;
  readonly clock: () => number;
  /** Keeps the progress where admins look for it. */
  readonly report: (progress: IndexProgress) => Promise<void>;
  readonly onError: (error: unknown) => void;
}

/** Keeps the search index in step with the tree, in the background, while the setting `search_index` is on. */
export interface IndexKeeper extends ChangeNotes {
  /** The index. @throws AppError UNSUPPORTED_OPERATION `search not available` | STORAGE_UNAVAILABLE */
  index(snapshot: Snapshot): Promise<SearchIndex>;
  /** A folder was listed in its storage; with `auto_update_index` its index follows. */
  readonly noteListing: OnListed;
  /** There may be something to do: the configuration changed, or a job was ordered. */
  wake(): void;
  /** Builds everything anew. @throws AppError FAILED_PRECONDITION; as index() */
  build(snapshot: Snapshot): Promise<void>;
  /**
   * Builds the subtrees of some paths anew. @param depth levels below each; negative: all; undefined: as the setting says.
   * @throws AppError FAILED_PRECONDITION (also when the mode has no partial update); as index()
   */
  update(snapshot: Snapshot, paths: readonly string[], depth: number | undefined): Promise<void>;
  stopJob(snapshot: Snapshot): Promise<void>;
  clear(snapshot: Snapshot): Promise<void>;
  progress(snapshot: Snapshot): Promise<IndexProgress & { readonly isRunning: boolean }>;
  /** Ends all work in an orderly way. What is left of a job goes on elsewhere or after the next start. */
  close(): Promise<void>;
}

/** Modes that let single subtrees be built anew. */
const PARTIAL_MODES = ['database', 'database_non_full_text', 'meilisearch'];
/** What another replica left lying is found within this time. */
const POLL_MS = 5_000;
const REPORT_MS = 2_000;
/** From one count of the entries to the next passes that many times what it took. */
const COUNT_PAUSE = 20;
/** More changed paths than this at once count as changes of their folders. */
const MAX_CHANGES = 20_000;
const MAX_LISTINGS = 1_000;
/** Folders whose last listing is remembered, to tell whether a listing is news. */
const REMEMBERED_LISTINGS = 20_000;

export function createIndexKeeper(options: IndexKeeperOptions): IndexKeeper {
  const { snapshot, clock, onError } = options;
  let opening: Promise<SearchIndex> | undefined;
  let isClosed = false;
  const changes = new Map<string, ChangedPaths>();
  /** Changes made while folders were being listed: the listing may be older than the change. */
  const overtaken = new Map<string, ChangedPaths>();
  const listings = new Map<VirtualPath, number>();
  const seen = new LRUCache<VirtualPath, number>({ max: REMEMBERED_LISTINGS });
  let reportedAt = 0;

  const open = (): Promise<SearchIndex> => {
    if (isClosed) return Promise.reject(new AppError('STORAGE_UNAVAILABLE', 'the search index is closed'));
    opening ??= options.openIndex().catch((error: unknown) => {
      opening = undefined;
      throw error;
    });
    return opening;
  };
  const indexOf = async (current: Snapshot): Promise<SearchIndex> => {
    if (isOff(current)) throw new AppError('UNSUPPORTED_OPERATION', 'search not available');
    return open();
  };
  let counted: { readonly count: number; readonly revision: number; readonly until: number } | undefined;
  /** Entries in the index, which every job changes: as they were counted for this revision a moment ago. */
  const countOf = async (index: SearchIndex, revision: number): Promise<number> => {
    if (counted?.revision === revision && clock() < counted.until) return counted.count;
    const startedAt = clock();
    const count = await index.count();
    const tookMs = clock() - startedAt;
    counted = { count, revision, until: startedAt + tookMs * COUNT_PAUSE };
    return count;
  };
  const progressOf = async (index: SearchIndex) => {
    const { revision, isDone, lastDoneAt, error, job } = await index.readState();
    const last_done_time = lastDoneAt === undefined ? null : new Date(lastDoneAt).toISOString();
    return { obj_count: await countOf(index, revision), is_done: isDone, last_done_time, error, isRunning: job !== undefined };
  };
  const report = async (index: SearchIndex, isFinal: boolean) => {
    if (!isFinal && clock() - reportedAt < REPORT_MS) return;
    reportedAt = clock();
    if (isFinal) counted = undefined;
    const { isRunning, ...progress } = await progressOf(index);
    await options.report(progress).catch(onError);
  };
  const note = (...paths: ChangedPaths) => changes.set(paths.join('\n'), paths);
  const takeChanges = (from: Map<string, ChangedPaths>): ChangedPaths[] => {
    const taken = [...from.values()];
    from.clear();
    return taken;
  };

  const walker = createIndexWalker({
    snapshot,
    folderCache: { read: (located, read) => options.folderCache().read(located, read) },
    owner: options.owner,
    clock,
    onError,
    async onProgress(index) {
      const { job } = await index.readState();
      await report(index, job === undefined);
    },
    betweenPortions: (index, current) => applyChanges(index, current, takeChanges(overtaken)),
  });

  /** Listings that differ from the index queue their folder. */
  const followListings = async (index: SearchIndex) => {
    const noted = [...listings];
    listings.clear();
    const { generation } = await index.readState();
    for (const [path, print] of noted) {
      seen.set(path, print);
      const folder = await index.findFolder(path);
      if (folder && folder.depth !== 0) await index.requeue(path, generation, false);
    }
  };
  const follow = repeatable(async () => {
    if (changes.size === 0 && listings.size === 0) return;
    const current = await snapshot();
    if (isOff(current)) {
      changes.clear();
      listings.clear();
      return;
    }
    const index = await open();
    const noted = takeChanges(changes);
    if (walker.isWalking()) for (const paths of noted) overtaken.set(paths.join('\n'), paths);
    await applyChanges(index, current, noted);
    if (listings.size > 0) await followListings(index);
    work();
  }, onError);
  const workOff = repeatable(async () => {
    const current = await snapshot();
    if (isOff(current)) return;
    const index = await open();
    await walker.walk(index);
    if (overtaken.size > 0) await applyChanges(index, current, takeChanges(overtaken));
  }, onError);
  const work = () => {
    if (!isClosed) workOff.run();
  };
  let isAutomatic = false;
  const timer = setInterval(() => {
    snapshot().then((current) => {
      isAutomatic = !isOff(current) && current.settings.isOn('auto_update_index');
      if (!isOff(current)) work();
    }, onError);
  }, POLL_MS);
  timer.unref();
  const after = async (index: SearchIndex) => {
    await report(index, true);
    work();
  };

  return {
    index: indexOf,
    noteChanges(paths) {
      if (isClosed) return;
      for (const path of paths) note(changes.size < MAX_CHANGES ? path : parentPath(path));
      follow.run();
    },
    noteMove(source, target) {
      if (isClosed) return;
      note(source, target);
      follow.run();
    },
    noteListing(path, { names }) {
      if (!isAutomatic || isClosed || listings.size >= MAX_LISTINGS) return;
      const print = printOf(names);
      if (seen.get(path) === print) return;
      listings.set(path, print);
      follow.run();
    },
    wake() {
      snapshot().then((current) => {
        isAutomatic = !isOff(current) && current.settings.isOn('auto_update_index');
      }, onError);
      work();
    },
    async build(current) {
      const index = await indexOf(current);
      await startJob(index, { kind: 'build', paths: [], depth: indexScope(current).maxDepth });
      await after(index);
    },
    async update(current, paths, depth) {
      const index = await indexOf(current);
      const mode = current.settings.text('search_index');
      if (!PARTIAL_MODES.includes(mode)) throw new AppError('FAILED_PRECONDITION', 'update is not supported for current index');
      const wanted = [...new Set(paths.map(parseVirtualPath))];
      await startJob(index, { kind: 'update', paths: wanted, depth: depth ?? indexScope(current).maxDepth });
      await after(index);
    },
    async stopJob(current) {
      const index = await indexOf(current);
      await stopJob(index, clock());
      walker.interrupt();
      await after(index);
    },
    async clear(current) {
      const index = await indexOf(current);
      await clearIndex(index);
      seen.clear();
      await after(index);
    },
    progress: async (current) => progressOf(await indexOf(current)),
    async close() {
      isClosed = true;
      clearInterval(timer);
      walker.interrupt();
      await Promise.all([follow.idle(), workOff.idle()]);
      const index = await opening?.catch(() => undefined);
      await index?.close();
    },
  };
}

function isOff({ settings }: Snapshot): boolean {
  return settings.text('search_index') === 'none';
}

/** Runs an action in the background, one run at a time; asked for during a run it runs once more. */
function repeatable(action: () => Promise<void>, onError: (error: unknown) => void): { run(): void; idle(): Promise<void> } {
  let running: Promise<void> | undefined;
  let again = false;
  const loop = async () => {
    do {
      again = false;
      await action().catch(onError);
    } while (again);
    running = undefined;
  };
  return {
    run() {
      if (running) again = true;
      else running = loop();
    },
    idle: async () => running,
  };
}

/** A number that other names hardly have too (FNV-1a). */
function printOf(names: readonly string[]): number {
  let print = 0x811c9dc5 ^ names.length;
  for (const name of names) {
    for (let at = 0; at < name.length; at += 1) print = Math.imul(print ^ name.charCodeAt(at), 0x01000193);
    print = Math.imul(print ^ 0x2f, 0x01000193);
  }
  return print;
}
