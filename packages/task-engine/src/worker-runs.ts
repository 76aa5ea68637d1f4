import type { TaskRecord } from '@wharf/models';
import { createPlaces, type Place } from './places.ts';
import type { ActiveRun } from './run-task.ts';
import { TASK_STATE } from './task-state.ts';
import type { ClosedTo } from './waiting-tasks.ts';

/** Cleanups that run at a time beside the tasks themselves. One user has all of these places but one: what is to be put away may be at a server that is silent. */
const MAX_CLEANUPS = 4;
const DEFAULT_CONCURRENCY = 5;
/** A task that has waited here for a place for so long, in milliseconds, is left to other replicas: those before it take longer than was thought. */
const PATIENCE_MS = 250;

/** What limits how much a replica works on at a time. */
export interface WorkLimits {
  /** How many tasks of a kind this replica works on at a time; asked before each round of claims. 5 by default. */
  readonly concurrencyOf?: (kind: string) => Promise<number>;
  /** How many tasks of so many places one user may have; by default all but one, which is for others, and at least one. */
  readonly shareOf?: (places: number) => number;
  /** How many tasks with this key this replica works on at a time; undefined: no limit. */
  readonly limitOfKey?: (key: string) => number | undefined;
  /** Tasks with one of these keys are left to other replicas for now. */
  readonly avoidedKeys?: () => readonly string[];
}

/** What this replica works on, and what it has room for. */
export interface WorkerRuns {
  /** Works on a task that was claimed. */
  begin(record: TaskRecord, isCleanup: boolean): void;
  /** Users of whom no more is to be put away for now; undefined: nobody's is. */
  closedToCleanUp(): readonly number[] | undefined;
  freeSlots(kind: string): Promise<number>;
  /** Tasks of a kind that are not to be taken, and how many others may be taken at once; users have a share of the places that `freeSlots` found last. */
  closedTo(kind: string): ClosedTo & { readonly most: number };
  /** Makes the runs of these tasks read at once whether a cancel or a pause was asked for, without waiting for the bus. */
  look(ids: readonly string[]): void;
  /** Tells all runs that this worker stops. */
  stop(): void;
  current(): ActiveRun[];
}

/** What a replica does about its runs. */
interface WorkerTold {
  /** There is room for another task, or for another cleanup. */
  readonly onRoom: (isCleanup: boolean) => void;
  /** A task that was taken and not begun is left to other replicas. */
  readonly onPassedOn: () => void;
}

/** @param limits.isSmall several such tasks have one place together. @param start begins to work on a task, once its place is free */
export function createWorkerRuns(
  limits: WorkLimits & { readonly isSmall: (record: TaskRecord) => boolean },
  start: (record: TaskRecord, place: Place | undefined) => ActiveRun,
  told: WorkerTold,
): WorkerRuns {
  const { limitOfKey, avoidedKeys, shareOf = (all) => Math.max(1, all - 1) } = limits;
  const runs = new Map<string, ActiveRun>();
  // Of tasks with keys that are limited too many would be claimed. Their keys are free when their end is written.
  const mayRunAhead = limitOfKey === undefined;
  const places = createPlaces({
    shareOf,
    mayRunAhead,
    onRoom: () => mayRunAhead && told.onRoom(false),
    nowMs: () => performance.now(),
  });
  const cleanups = new Set<TaskRecord>();
  const working = () => [...runs.values()].filter((run) => run.record.state === TASK_STATE.running);

  const beginInPlace = (record: TaskRecord): ActiveRun => {
    const place = places.add(record, limits.isSmall(record));
    const run = start(record, place);
    if (!place.isAwaited()) return run;
    const passOn = setTimeout(() => {
      if (!place.isAwaited()) return;
      run.stop('passed on');
      void run.ended.then(told.onPassedOn);
    }, PATIENCE_MS);
    void run.ended.then(() => clearTimeout(passOn));
    return run;
  };

  return {
    begin(record, isCleanup) {
      const run = isCleanup ? start(record, undefined) : beginInPlace(record);
      // The same task may come back here under a higher fence before its old run has noticed.
      const key = `${record._id}:${record.fence}`;
      runs.set(key, run);
      if (isCleanup) cleanups.add(record);
      void run.ended.then(() => {
        runs.delete(key);
        cleanups.delete(record);
        if (isCleanup || !mayRunAhead) told.onRoom(isCleanup);
      });
    },
    closedToCleanUp() {
      if (cleanups.size >= MAX_CLEANUPS) return undefined;
      return atLimit(counted([...cleanups].map(({ creator_id }) => creator_id)), () => MAX_CLEANUPS - 1);
    },
    async freeSlots(kind) {
      const wanted = (await limits.concurrencyOf?.(kind)) ?? DEFAULT_CONCURRENCY;
      return places.room(kind, Math.max(1, wanted));
    },
    closedTo(kind) {
      const keys = counted(working().flatMap(({ record }) => record.keys));
      const { closed, most } = places.limits(kind);
      return {
        keys: [...atLimit(keys, (key) => limitOfKey?.(key) ?? Number.POSITIVE_INFINITY), ...(avoidedKeys?.() ?? [])],
        creators: closed,
        most,
      };
    },
    look(ids) {
      for (const run of runs.values()) if (ids.includes(run.record._id)) run.look();
    },
    stop() {
      for (const run of runs.values()) run.stop('stopping');
    },
    current: () => [...runs.values()],
  };
}

function counted<Value>(values: readonly Value[]): ReadonlyMap<Value, number> {
  const counts = new Map<Value, number>();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  return counts;
}

function atLimit<Value>(counts: ReadonlyMap<Value, number>, limitOf: (value: Value) => number): Value[] {
  return [...counts].filter(([value, count]) => count >= limitOf(value)).map(([value]) => value);
}
