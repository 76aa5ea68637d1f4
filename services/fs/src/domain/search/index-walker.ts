import { isDeepStrictEqual } from 'node:util';
import { AppError } from '@wharf/errors';
import { unlessAborted } from '@wharf/pace';
import { baseName, isWithin, MOUNT_ROOT, parentPath, VIRTUAL_ROOT, type VirtualPath } from '@wharf/paths';
import { MAX_WALKED_ENTRIES, tooMany } from '../../driver-contract/walk-bound.ts';
import type { FolderCache } from '../reading/folder-cache.ts';
import type { Snapshot } from '../snapshot/snapshot.ts';
import { type BoundedLooks, createBoundedLooks, type Look } from './bounded-looks.ts';
import { createFolderRuns, type FolderRuns } from './folder-runs.ts';
import { editState, ended } from './index-jobs.ts';
import { type IndexScope, indexScope, isIndexOff } from './index-scope.ts';
import { createListedAhead } from './listed-ahead.ts';
import { FolderUnreadable, type IndexWalk, reconcileFolder, toIndexed } from './reconcile-folder.ts';
import { type IndexJob, type IndexState, NO_DEPTH_LIMIT, type SearchIndex, type Territory } from './search-index.ts';

export interface WalkerOptions {
  readonly snapshot: () => Promise<Snapshot>;
  readonly folderCache: Pick<FolderCache, 'read'>;
  /** The name of this process. No other process that shares the index has it. */
  readonly owner: string;
  readonly clock: () => number;
  /** Called now and then with what was walked so far. */
  readonly onProgress: (index: SearchIndex) => Promise<void>;
  readonly onError: (error: unknown) => void;
  /** Entries of one storage that one walk looks at; MAX_WALKED_ENTRIES unless told. */
  readonly maxEntries?: number | undefined;
  /** Called between portions. @param isUnderWay whether a folder of the storage of a path is being read. @returns the paths of changes that were followed */
  readonly betweenPortions: (
    index: SearchIndex,
    snapshot: Snapshot,
    isUnderWay: (path: VirtualPath) => boolean,
  ) => Promise<readonly VirtualPath[]>;
  /** After this time others go on beside a folder, in milliseconds; as FolderRuns has it unless told. */
  readonly standsAfterMs?: number | undefined;
  /** For how long an update looks at what is in one storage, in milliseconds; as BoundedLooks has it unless told. */
  readonly lateMs?: number | undefined;
}

/** Folders that are taken off the queue at a time. */
const PORTION = 32;
/** A storage whose folders failed this often in one walk is left out of its rest. */
const MAX_FAILURES = 3;
const HEARTBEAT_MS = 5_000;
/** What is queued is given up after so many walks in a row that had no end: one of its folders ends the process that reads it. */
const MAX_WALKS = 5;

/** Works the queue of the index off, one walker over all replicas. */
export interface IndexWalker {
  /** Works until the queue is empty, or the index is switched off. Does nothing when another replica works on it. @returns whether this process did the walk */
  walk(index: SearchIndex): Promise<boolean>;
  /** Whether a folder is being listed for the index. */
  isWalking(): boolean;
  /** Whether this folder is. */
  isReading(path: VirtualPath): boolean;
  /** Lets go after the folders under way. */
  interrupt(): void;
}

export function createIndexWalker(options: WalkerOptions): IndexWalker {
  let abort: AbortController | undefined;
  /** Whether the state counts a walk of this process. */
  let isCounted = false;
  const reading = new Set<VirtualPath>();

  const walkOn = async (index: SearchIndex, runs: FolderRuns, signal: AbortSignal): Promise<void> => {
    let tally = newTally();
    let ahead = createListedAhead();
    let mounts: IndexState['mounts'];
    while (!signal.aborted) {
      const snapshot = await options.snapshot();
      if (isIndexOff(snapshot)) return;
      const scope = indexScope(snapshot);
      // What is read of a storage that is gone, or another one by now, is not waited for.
      if (!isDeepStrictEqual(mounts, scope.mounts)) await runs.stop();
      mounts = scope.mounts;
      let state = await index.readState();
      // A walk with nothing to do is none.
      if (!isCounted && (state.job || (await index.queued(state.generation, 1)).length > 0)) {
        state = await countWalk(index, options.clock());
        isCounted = true;
      }
      if (state.job && !state.job.isPrepared) {
        // What is read for what was ordered before would come into the new index.
        await runs.stop();
        tally = newTally();
        ahead = createListedAhead();
        state = await prepare({ index, snapshot, scope, signal, tally, options }, state, state.job);
      } else if (!state.job && state.mounts) state = await followMounts(index, scope, state);
      // While it is asked, some of them may end: then it is asked again.
      const [standing, except] = [runs.standing(), runs.waiting().map((place) => territoryOf(snapshot, place))];
      const queued = await index.queued(state.generation, PORTION + standing.length, except);
      const { generation, job } = state;
      const placeOf = (path: VirtualPath) => snapshot.table.locate(path)?.mountedAt ?? path;
      const isEnd = queued.every(({ path }) => runs.isUnderWay(path));
      if (isEnd && runs.goOn()) continue;
      if (standing.length > 0 && isEnd) {
        // Of all other storages the walk has come to its end.
        keepOnly(tally, standing);
        await runs.next();
      } else if (queued.length === 0) {
        // Whoever claims the queue next goes on with it.
        if (!signal.aborted) await makeFast(index, signal);
        if (!job || signal.aborted) return;
        const failed = tally.error;
        await editState(index, (now) => (now.job && now.generation === generation ? ended(now, options.clock(), failed) : undefined));
        isCounted = false;
        await options.onProgress(index);
        continue;
      } else {
        const walk = { snapshot, scope, folderCache: options.folderCache, index, generation, isFresh: job !== undefined, ahead };
        await runs.read(
          queued.map(({ path }) => ({ path, place: placeOf(path) })),
          async (path, signal) => {
            reading.add(path);
            await walkFolder({ ...walk, signal }, path, tally, options).finally(() => reading.delete(path));
          },
        );
      }
      const followed = await options.betweenPortions(index, snapshot, (path) => runs.stands(placeOf(path)));
      ahead.forget(followed.map((path) => snapshot.table.locate(path)?.path ?? MOUNT_ROOT));
      if (job) await options.onProgress(index);
    }
  };

  return {
    async walk(index) {
      if (!(await index.claim(options.owner))) return false;
      const current = new AbortController();
      abort = current;
      const heartbeat = keepClaimed(index, options, () => {
        // Whoever has it now counts anew.
        isCounted = false;
        current.abort();
      });
      const runs = createFolderRuns(current.signal, options.standsAfterMs);
      try {
        await walkOn(index, runs, current.signal);
      } finally {
        clearInterval(heartbeat);
        await runs.stop();
        abort = undefined;
        try {
          if (isCounted) await editState(index, (state) => ({ ...state, walks: 0 }));
          isCounted = false;
        } finally {
          await index.release(options.owner);
        }
      }
      return true;
    },
    isWalking: () => abort !== undefined,
    isReading: (path) => reading.has(path),
    interrupt: () => abort?.abort(),
  };
}

/** Renews the claim until its timer is cleared. */
function keepClaimed(index: SearchIndex, { owner, onError }: WalkerOptions, onLost: () => void): NodeJS.Timeout {
  const renew = () =>
    index.claim(owner).then((isOurs) => {
      if (!isOurs) onLost();
    }, onError);
  return setInterval(renew, HEARTBEAT_MS).unref();
}

/** What the storage at a place has in the index, without those that are mounted below it. */
function territoryOf({ table }: Snapshot, place: VirtualPath): Territory {
  const below = table.mounts.filter(({ mountedAt }) => mountedAt !== place && isWithin(place, mountedAt));
  return { place, without: below.map(({ mountedAt }) => mountedAt) };
}

/** What one walk met, for each storage by its place. */
interface Tally {
  readonly failures: Map<VirtualPath, number>;
  readonly entries: Map<VirtualPath, number>;
  /** What went wrong first; empty when nothing did. */
  error: string;
}

const newTally = (): Tally => ({ failures: new Map(), entries: new Map(), error: '' });

/** The walk goes on in some storages only. */
function keepOnly({ failures, entries }: Tally, places: readonly VirtualPath[]): void {
  for (const counts of [failures, entries]) for (const place of counts.keys()) if (!places.includes(place)) counts.delete(place);
}

/** Brings one folder of the queue up to date and takes it off. The rest of a storage that fails, or does not end, goes with it. */
async function walkFolder(
  walk: IndexWalk,
  path: VirtualPath,
  tally: Tally,
  { onError, maxEntries = MAX_WALKED_ENTRIES }: WalkerOptions,
): Promise<void> {
  const { index, signal } = walk;
  if (signal.aborted) return;
  try {
    const found = await reconcileFolder(walk, path);
    if (signal.aborted) return;
    const mountedAt = walk.snapshot.table.locate(path)?.mountedAt ?? path;
    const seen = (tally.entries.get(mountedAt) ?? 0) + found;
    tally.entries.set(mountedAt, seen);
    if (seen > maxEntries) {
      tally.failures.set(mountedAt, MAX_FAILURES);
      throw new FolderUnreadable(path, mountedAt, tooMany(maxEntries));
    }
    await index.settle([path]);
  } catch (cause) {
    if (!(cause instanceof FolderUnreadable)) throw cause;
    if (signal.aborted) return;
    onError(cause);
    tally.error ||= cause.message;
    const count = (tally.failures.get(cause.mountedAt) ?? 0) + 1;
    tally.failures.set(cause.mountedAt, count);
    if (count < MAX_FAILURES) await index.settle([path]);
    else await index.settleAll(territoryOf(walk.snapshot, cause.mountedAt));
  }
}

/** Counts a walk that is to begin, or gives up what is queued. */
function countWalk(index: SearchIndex, now: number): Promise<IndexState> {
  return editState(index, (state) => {
    if (state.walks < MAX_WALKS) return { ...state, walks: state.walks + 1 };
    const error = `given up: indexing was interrupted ${MAX_WALKS} times`;
    return { ...ended(state, now, error), generation: state.generation + 1 };
  });
}

/** What a job is prepared with. */
interface Preparation {
  readonly index: SearchIndex;
  readonly snapshot: Snapshot;
  readonly scope: IndexScope;
  readonly signal: AbortSignal;
  readonly tally: Tally;
  readonly options: WalkerOptions;
}

/** Takes the old contents away and queues where the job begins. May be done again after a crash, or when it was interrupted. */
async function prepare(preparation: Preparation, state: IndexState, job: IndexJob): Promise<IndexState> {
  const { index, snapshot, scope, signal, options } = preparation;
  const { generation } = state;
  const looks = createBoundedLooks(snapshot, options.lateMs);
  if (job.kind === 'build') {
    await index.clear();
    await index.openFolder(VIRTUAL_ROOT, levels(job.depth), generation);
  } else
    for (const path of job.paths) {
      await prepareUpdate(preparation, looks, path, levels(job.depth), generation);
      if (signal.aborted) return state;
    }
  return editState(index, (now) => {
    if (!now.job || now.generation !== generation) return undefined;
    // What an update finds changed of other storages is followed after it.
    const mounts = job.kind === 'update' && now.mounts ? now.mounts : scope.mounts;
    return { ...now, job: { ...now.job, isPrepared: true }, mounts };
  });
}

async function prepareUpdate(
  preparation: Preparation,
  looks: BoundedLooks,
  path: VirtualPath,
  depth: number,
  generation: number,
): Promise<void> {
  const { index, scope, signal, tally, options } = preparation;
  const name = baseName(path);
  if (name === undefined) {
    await index.clear();
    await index.openFolder(path, depth, generation);
    return;
  }
  const parent = parentPath(path);
  const found = scope.isLeftOut(path) ? 'gone' : await lookBelow(preparation, looks, path);
  if (signal.aborted) return;
  if (AppError.is(found)) {
    // What the index has of it stays, and is read as what is queued is.
    const unread = new FolderUnreadable(path, preparation.snapshot.table.locate(path)?.mountedAt ?? path, found);
    options.onError(unread);
    tally.error ||= unread.message;
    await index.requeue(parent, generation, false);
    await index.requeue(path, generation, true);
    return;
  }
  await index.remove(parent, [name]);
  if (found === 'gone') return;
  if (!(await index.findFolder(parent))) await index.openFolder(parent, 0, generation);
  await index.put(parent, [toIndexed(found)], generation);
  if (found.isDirectory && !found.isLink) await index.openFolder(path, depth, generation);
}

/** What is at a path; an error, too, where a storage whose place is there or below does not answer. */
async function lookBelow({ snapshot, scope, signal }: Preparation, looks: BoundedLooks, path: VirtualPath): Promise<Look> {
  const found = await looks.at(path, signal);
  if (found === 'gone' || AppError.is(found)) return found;
  for (const { mountedAt } of snapshot.table.mounts) {
    if (!isWithin(path, mountedAt) || scope.isMountLeftOut(mountedAt) || scope.isLeftOut(mountedAt)) continue;
    const root = await looks.storage(mountedAt, signal);
    if (AppError.is(root)) return root;
  }
  return found;
}

/** Follows the storages: what is indexed of a storage that is gone is removed, a new or changed storage is queued. */
async function followMounts(index: SearchIndex, scope: IndexScope, state: IndexState): Promise<IndexState> {
  const before = state.mounts ?? {};
  const places = new Set([...Object.keys(before), ...Object.keys(scope.mounts)]);
  const changed = [...places].filter((place) => before[place] !== scope.mounts[place]) as VirtualPath[];
  if (changed.length === 0) return state;
  for (const place of changed) {
    const name = baseName(place);
    const isGone = scope.mounts[place] === undefined;
    if (isGone && name !== undefined) await index.remove(parentPath(place), [name]);
    else await index.requeue(place, state.generation, true);
    const above = name === undefined ? undefined : await nearestFolder(index, parentPath(place));
    if (above) await index.requeue(above.path, state.generation, false);
  }
  return editState(index, (now) => (now.job ? undefined : { ...now, mounts: scope.mounts }));
}

/** Folders that the index is asked for at once. */
const MOST_ASKED = 128;

/** The nearest folder at or above a path whose entries the index has. */
export async function nearestFolder(index: SearchIndex, path: VirtualPath): Promise<{ path: VirtualPath; depth: number } | undefined> {
  // Most often it is one of the first. Of a path with two thousand folders each question by itself would have all other changes wait.
  let [at, size]: [VirtualPath | undefined, number] = [path, 1];
  while (at !== undefined) {
    const asked: VirtualPath[] = [];
    for (; at !== undefined && asked.length < size; at = at === '/' ? undefined : parentPath(at)) asked.push(at);
    const folder = (await Promise.all(asked.map((each) => index.findFolder(each)))).find((each) => each !== undefined);
    if (folder) return folder.depth === 0 ? undefined : folder;
    size = Math.min(2 * size, MOST_ASKED);
  }
  return undefined;
}

function levels(depth: number): number {
  return depth < 0 ? NO_DEPTH_LIMIT : depth;
}

/** Makes searches fast, or goes away when nobody wants it any more: it may go on then. */
async function makeFast(index: SearchIndex, signal: AbortSignal): Promise<void> {
  await unlessAborted(signal, index.makeFast()).catch((error: unknown) => {
    if (!signal.aborted) throw error;
  });
}
