import { AppError } from '@wharf/errors';
import { outsideCalls } from '@wharf/pace';
import { joinPath, type VirtualPath } from '@wharf/paths';
import type { ChangeNotes } from '../changing/changes.ts';
import type { FolderCache, OnListed } from '../reading/folder-cache.ts';
import type { Snapshot } from '../snapshot/snapshot.ts';
import { applyChanges, type ChangedPaths } from './index-changes.ts';
import { createIndexCommands, type IndexCommands } from './index-commands.ts';
import { createIndexProgress, type IndexProgress } from './index-progress.ts';
import { isIndexOff } from './index-scope.ts';
import { createIndexWalker } from './index-walker.ts';
import { createNotedChanges, type NotedChanges } from './noted-changes.ts';
import { createNotedListings, type NotedListings } from './noted-listings.ts';
import { repeatable } from './repeatable.ts';
import type { SearchIndex } from './search-index.ts';

export interface IndexKeeperOptions {
  readonly snapshot: () => Promise<Snapshot>;
  readonly folderCache: () => FolderCache;
  /** Called when the index is first needed, and again after it failed. */
  readonly openIndex: () => Promise<SearchIndex>;
  /** The name of this process. No other process that shares the index has it. */
  readonly owner: string;
  readonly clock: () => number;
  /** Keeps the progress where admins look for it. */
  readonly report: (progress: IndexProgress) => Promise<void>;
  readonly onError: (error: unknown) => void;
  /** Entries of one storage that one walk looks at; MAX_WALKED_ENTRIES unless told. */
  readonly maxEntries?: number | undefined;
  /** As WalkerOptions has it. */
  readonly standsAfterMs?: number | undefined;
  /** The same. */
  readonly lateMs?: number | undefined;
}

/** Keeps the search index in step with the tree, in the background, while the setting `search_index` is on. */
export interface IndexKeeper extends ChangeNotes, IndexCommands {
  /** The index. @throws AppError UNSUPPORTED_OPERATION `search not available` | STORAGE_UNAVAILABLE */
  index(snapshot: Snapshot): Promise<SearchIndex>;
  /** What another replica has changed, and follows in the index: what is being read here for the index may be older. */
  noteElsewhere(paths: readonly VirtualPath[]): void;
  /** A folder was listed in its storage; with `auto_update_index` its index follows. */
  readonly noteListing: OnListed;
  /** There may be something to do: the configuration changed, or a job was ordered. */
  wake(): void;
  /** Ends all work in an orderly way. What is left of a job goes on elsewhere or after the next start. */
  close(): Promise<void>;
}

/** So many changes that fail in a row are no matter of theirs. */
const MAX_FAILURES = 3;
/** Work that another replica left is found within this time, in milliseconds. */
const POLL_MS = 5_000;

export function createIndexKeeper(options: IndexKeeperOptions): IndexKeeper {
  const { snapshot, clock, onError } = options;
  let isClosed = false;
  const progress = createIndexProgress(options);
  const changes = createNotedChanges();
  /** Changes made while folders were being listed: the listing may be older than the change. */
  const overtaken = createNotedChanges();
  const listings = createNotedListings();

  const { open, close } = openedOnce(options.openIndex, () => isClosed);
  const indexOf = async (current: Snapshot): Promise<SearchIndex> => {
    if (isIndexOff(current)) throw new AppError('UNSUPPORTED_OPERATION', 'search not available');
    return open();
  };

  const apply = applying(onError);
  const walker = createIndexWalker({
    ...options,
    folderCache: following(options.folderCache, listings),
    async onProgress(index) {
      const { job } = await index.readState();
      await progress.report(index, job === undefined);
    },
    async betweenPortions(index, current, isUnderWay) {
      const ready = overtaken.take((paths) => !paths.some(isUnderWay));
      // An index that is away is so for the walk, too.
      await apply(overtaken, ready, index, current).catch(onError);
      return ready.flat();
    },
  });

  const follow = repeatable(async () => {
    if (changes.size() === 0 && listings.size() === 0) return;
    const current = await snapshot();
    if (isIndexOff(current)) {
      for (const notes of [changes, overtaken]) notes.take();
      return listings.clear();
    }
    const index = await open();
    const noted = changes.take();
    if (walker.isWalking()) for (const paths of noted) overtaken.note(...paths);
    await apply(changes, noted, index, current);
    await listings.queueFolders(index, walker.isReading);
    work();
  }, onError);
  const workOff = repeatable(async () => {
    const current = await snapshot();
    if (isIndexOff(current)) return;
    const index = await open();
    await walker.walk(index);
    if (overtaken.size() > 0) await apply(overtaken, overtaken.take(), index, current);
  }, onError);
  const work = () => {
    if (!isClosed) workOff.run();
  };
  const goOn = () => {
    // What could not be followed waits, and what was listed while it was read.
    if (!isClosed) follow.run();
    work();
  };
  const note = (changed: readonly ChangedPaths[]) => {
    if (isClosed) return;
    for (const paths of changed) changes.note(...paths);
    follow.run();
  };
  const settings = watchSettings(snapshot, goOn, onError);
  const after = async (index: SearchIndex) => {
    await progress.report(index, true);
    work();
  };

  return {
    index: indexOf,
    noteChanges: (paths) => note(paths.map((path) => [path])),
    noteGone: (paths) => note(paths.map((path) => [path, path])),
    noteMove: (source, target) => note([[source, target]]),
    noteElsewhere(paths) {
      if (walker.isWalking()) for (const path of paths) overtaken.note(path);
    },
    noteListing(path, { names }) {
      if (settings.isAutomatic() && !isClosed) listings.note(path, names).then((isNews) => isNews && goOn(), onError);
    },
    wake() {
      settings.read().catch(onError);
      goOn();
    },
    ...createIndexCommands({ indexOf, clock, progress, interrupt: walker.interrupt, onCleared: listings.forget, after }),
    async close() {
      isClosed = true;
      settings.close();
      walker.interrupt();
      await Promise.all([follow.idle(), workOff.idle()]);
      await close();
    },
  };
}

/** What the walk reads of folders: it may be this very listing that was noted. */
function following(folderCache: () => FolderCache, listings: NotedListings): Pick<FolderCache, 'read'> {
  return {
    async read(located, read) {
      const folder = await folderCache().read(located, read);
      await listings.follow(joinPath(located.mountedAt, located.path as string as VirtualPath), folder.names);
      return folder;
    },
  };
}

/** Opens the index when it is first asked for, and again after that failed. */
function openedOnce(openIndex: IndexKeeperOptions['openIndex'], isClosed: () => boolean) {
  let opening: Promise<SearchIndex> | undefined;
  return {
    open(): Promise<SearchIndex> {
      if (isClosed()) return Promise.reject(new AppError('STORAGE_UNAVAILABLE', 'the search index is closed'));
      opening ??= outsideCalls(openIndex).catch((error: unknown) => {
        opening = undefined;
        throw error;
      });
      return opening;
    },
    async close(): Promise<void> {
      const index = await opening?.catch(() => undefined);
      await index?.close();
    },
  };
}

/**
 * Applies changes that were taken from notes. What there is no room for is left out; what the index has not taken is noted again. One that it never takes
 * holds up no others: only where some fail in a row the index is away.
 *
 * @throws AppError STORAGE_UNAVAILABLE: it is away
 */
function applying(onError: (error: unknown) => void) {
  return async (notes: NotedChanges, taken: readonly ChangedPaths[], index: SearchIndex, snapshot: Snapshot): Promise<void> => {
    let begun = 0;
    let inARow = 0;
    let problem: unknown;
    let failedLast = 0;
    /** They are noted last. */
    const failed: ChangedPaths[] = [];
    const each = function* () {
      for (const paths of taken) {
        begun += 1;
        yield paths;
      }
    };
    const onFailure = (paths: ChangedPaths, error: unknown) => {
      if (!AppError.is(error, 'STORAGE_UNAVAILABLE') && !AppError.is(error, 'QUOTA_EXCEEDED')) throw error;
      problem = error;
      if (AppError.is(error, 'QUOTA_EXCEEDED')) return;
      inARow = failedLast === begun - 1 ? inARow + 1 : 1;
      failedLast = begun;
      failed.push(paths);
      if (inARow === MAX_FAILURES) throw error;
    };
    try {
      await applyChanges(index, snapshot, each(), { onFailure });
    } catch (error) {
      for (const paths of taken.slice(begun)) notes.note(...paths);
      if (!AppError.is(error, 'QUOTA_EXCEEDED')) throw error;
      problem = error;
    } finally {
      for (const paths of failed) notes.note(...paths);
    }
    if (problem !== undefined) onError(problem);
  };
}

/** Reads the settings again and again: `work` runs while the index is on. */
function watchSettings(snapshot: () => Promise<Snapshot>, work: () => void, onError: (error: unknown) => void) {
  let isAutomatic = false;
  /** @returns whether the index is on */
  const read = async (): Promise<boolean> => {
    const current = await snapshot();
    isAutomatic = !isIndexOff(current) && current.settings.isOn('auto_update_index');
    return !isIndexOff(current);
  };
  const timer = setInterval(() => {
    read().then((isOn) => isOn && work(), onError);
  }, POLL_MS);
  timer.unref();
  return { isAutomatic: () => isAutomatic, read, close: () => clearInterval(timer) };
}
