import { type TaskModels, type TaskOwner, taskModelsOf, taskProgressed, taskWake } from '@wharf/models';
import { createPace } from '@wharf/pace';
import type { Bus, StoreConnection } from '@wharf/service-kit';
import { createStoreClock } from './store-clock.ts';
import type { TaskScope } from './task-control.ts';
import { createTaskSnapshots, type TaskSnapshots } from './task-snapshot.ts';
import { SHOWN, type ShownRecord, type WireTask, wireTask } from './wire-task.ts';

/** How often the store is asked for changes while somebody watches, in milliseconds; a hint from the bus makes it sooner, and while there is a bus it is asked rarely. */
const POLL_MS = 1_000;
const POLL_BESIDE_BUS_MS = 5_000;
const AFTER_HINT_MS = 200;
/** Writes become visible in another order than that of their times: a look goes back so far behind the one before, in milliseconds, and after a hint only a little. */
const OVERLAP_MS = 3_000;
const HINT_OVERLAP_MS = 1_000;
/** A write of thousands has the time of its beginning: so long may one take, in milliseconds, and so often a look goes back as far. */
const LONGEST_WRITE_MS = 35_000;
const CATCH_UP_MS = 10_000;
/** Changed tasks that the store tells at a time. */
const BATCH = 500;

export type TaskChange = { readonly kind: 'task'; readonly task: WireTask } | { readonly kind: 'removed'; readonly id: string };

/** The tasks of all owners as they change, for whoever may see them. Reads only; works without the owners and without the bus. */
export interface TaskFeed {
  /** The tasks of this moment. @throws what the store throws */
  readonly snapshot: TaskSnapshots['of'];
  /** Tells of changes until the answer is called. A change may be told twice, and only the last of several in a row. */
  watch(scope: TaskScope, onChange: (change: TaskChange) => void): () => void;
  close(): void;
}

interface Watcher {
  readonly scope: TaskScope;
  readonly onChange: (change: TaskChange) => void;
}

/**
 * @param onError is told when the store could not be asked; the next look catches up
 * @param catchUpMs how often writes are looked for that took long, in milliseconds; CATCH_UP_MS unless told
 */
export function createTaskFeed(options: {
  owners: readonly TaskOwner[];
  store: StoreConnection;
  bus: Bus;
  onError: (error: unknown) => void;
  catchUpMs?: number;
}): TaskFeed {
  const { owners, store, bus, onError, catchUpMs = CATCH_UP_MS } = options;
  const clock = createStoreClock(store);
  const watchers = createWatchers();
  const sources = owners.map((owner) => createSource(store, owner));
  const snapshots = createTaskSnapshots(sources.map(({ models }) => models));
  let timer: NodeJS.Timeout | undefined;
  let dueAtMs = Number.POSITIVE_INFINITY;
  const looks = createLooks(catchUpMs);
  const pollMs = () => (bus.isConnected() ? POLL_BESIDE_BUS_MS : POLL_MS);
  let isLooking = false;
  let isClosed = false;

  const look = async (): Promise<void> => {
    await clock.sync();
    const { isWhole, isCatchingUp, overlapMs } = looks.begin(pollMs());
    for (const source of sources) {
      if (!isWhole && source.hintedAt === undefined) continue;
      const { hintedAt } = source;
      source.hintedAt = undefined;
      source.cursor ??= clock.now();
      // The store's clock was set back since: what changes now would lie before the last look.
      if (source.cursor.getTime() > clock.now().getTime() + LONGEST_WRITE_MS) source.cursor = clock.now();
      // Events tell changes without the store: after a hint only what is newer is asked for.
      const from = isWhole ? source.cursor : (hintedAt ?? source.cursor);
      const since = new Date(from.getTime() - overlapMs);
      if (isCatchingUp) for (const [id, { at }] of source.seen) if (at < since) source.seen.delete(id);
      const pace = createPace();
      for await (const record of changedSince(source.models, since)) {
        await pace.step();
        const { _id: id, revision, updated_at: at } = record;
        if (isWhole && at > source.cursor) source.cursor = at;
        watchers.tell(source, { creatorId: record.creator_id, id, revision, at }, () => changeOf(record));
      }
    }
  };

  const schedule = (delayMs: number) => {
    if (isClosed || watchers.isEmpty) return;
    const atMs = performance.now() + delayMs;
    if (timer !== undefined && dueAtMs <= atMs) return;
    clearTimeout(timer);
    dueAtMs = atMs;
    timer = setTimeout(() => {
      timer = undefined;
      if (isLooking) return schedule(AFTER_HINT_MS);
      isLooking = true;
      look()
        .catch(onError)
        .finally(() => {
          isLooking = false;
          schedule(pollMs());
        });
    }, delayMs);
  };

  const hint = (source: Source) => {
    // Nobody has looked yet: the first look is one at everything.
    if (source.cursor !== undefined) source.hintedAt ??= clock.now();
    schedule(AFTER_HINT_MS);
  };
  for (const source of sources) {
    bus.subscribe(taskWake(source.owner), () => hint(source));
    bus.subscribe(taskProgressed(source.owner), ({ tasks, creators }) => {
      if (!watchers.hasAny(creators)) return;
      if (tasks === undefined || source.cursor === undefined) return hint(source);
      for (const { creatorId, revision, shown } of tasks)
        watchers.tell(source, { creatorId, id: shown.id, revision, at: clock.now() }, () => ({ kind: 'task', task: shown }));
    });
  }

  return {
    snapshot: snapshots.of,
    watch(scope, onChange) {
      const watcher = { scope, onChange };
      // Whatever changed while nobody watched is in the snapshot.
      if (watchers.isEmpty) {
        looks.reset();
        for (const source of sources) {
          source.cursor = undefined;
          source.hintedAt = undefined;
          source.seen.clear();
        }
      }
      watchers.add(watcher);
      schedule(0);
      return () => {
        watchers.remove(watcher);
      };
    },
    close() {
      isClosed = true;
      clearTimeout(timer);
      watchers.clear();
    },
  };
}

/** The tasks of one owner, and what was told of them. */
interface Source {
  readonly owner: TaskOwner;
  readonly models: TaskModels;
  readonly seen: Map<string, Seen>;
  /** The newest change of the last look at everything; undefined: there was none. */
  cursor: Date | undefined;
  /** When a change was hinted at first, since the last look, by the store's clock. */
  hintedAt: Date | undefined;
}

const createSource = (store: StoreConnection, owner: TaskOwner): Source => ({
  owner,
  models: taskModelsOf(store, owner),
  seen: new Map(),
  cursor: undefined,
  hintedAt: undefined,
});

/** Who watches: those who see all tasks, and those who see one user's. */
function createWatchers() {
  const ofAll = new Set<Watcher>();
  const byCreator = new Map<number, Set<Watcher>>();
  return {
    get isEmpty() {
      return ofAll.size === 0 && byCreator.size === 0;
    },
    add(watcher: Watcher) {
      const { creatorId } = watcher.scope;
      if (creatorId === undefined) ofAll.add(watcher);
      else byCreator.set(creatorId, (byCreator.get(creatorId) ?? new Set()).add(watcher));
    },
    remove(watcher: Watcher) {
      ofAll.delete(watcher);
      const { creatorId = 0 } = watcher.scope;
      const beside = byCreator.get(creatorId);
      beside?.delete(watcher);
      if (beside?.size === 0) byCreator.delete(creatorId);
    },
    clear() {
      ofAll.clear();
      byCreator.clear();
    },
    /** Whether somebody watches tasks of one of these; undefined: of anybody. */
    hasAny: (creators: readonly number[] | undefined) =>
      ofAll.size > 0 || (creators?.some((id) => byCreator.has(id)) ?? byCreator.size > 0),
    /** Tells a change once: the store and the bus may both have it. */
    tell({ seen }: Source, { creatorId, id, revision, at }: Seen & { id: string; creatorId: number }, change: () => TaskChange) {
      if ((seen.get(id)?.revision ?? -1) >= revision) return;
      seen.set(id, { revision, at });
      const made = change();
      for (const watchers of [ofAll, byCreator.get(creatorId) ?? []]) for (const { onChange } of watchers) onChange(made);
    },
  };
}

/** How far each look goes: after a hint only to the source that it is of, and not far back. */
function createLooks(catchUpMs: number) {
  let wholeAtMs = Number.NEGATIVE_INFINITY;
  /** When writes that took long were looked for last. */
  let caughtUpAtMs = Number.NEGATIVE_INFINITY;
  return {
    begin(pollMs: number) {
      const nowMs = performance.now();
      const isWhole = nowMs - wholeAtMs >= pollMs - AFTER_HINT_MS;
      const isCatchingUp = isWhole && nowMs - caughtUpAtMs >= catchUpMs;
      if (isWhole) wholeAtMs = nowMs;
      if (isCatchingUp) caughtUpAtMs = nowMs;
      return { isWhole, isCatchingUp, overlapMs: isCatchingUp ? LONGEST_WRITE_MS : isWhole ? OVERLAP_MS : HINT_OVERLAP_MS };
    },
    /** The next look is one at everything. */
    reset() {
      wholeAtMs = Number.NEGATIVE_INFINITY;
      caughtUpAtMs = Number.NEGATIVE_INFINITY;
    },
  };
}

interface Seen {
  readonly revision: number;
  readonly at: Date;
}

const changeOf = (record: ShownRecord): TaskChange =>
  record.forget ? { kind: 'removed', id: record._id } : { kind: 'task', task: wireTask(record) };

const changedSince = ({ tasks }: TaskModels, since: Date): AsyncIterable<ShownRecord> =>
  tasks
    .find({ updated_at: { $gt: since } }, SHOWN)
    .batchSize(BATCH)
    .lean<ShownRecord[]>()
    .cursor() as AsyncIterable<ShownRecord>;
