import { setTimeout as wait } from 'node:timers/promises';
import type { VirtualPath } from '@wharf/paths';

/** A folder that takes longer than this stands: others go on beside it. In milliseconds. */
const STANDS_AFTER_MS = 2_000;
/** So many folders are read at once, beside those that stand; of one storage no more may stand. */
const PARALLEL = 4;
/** So many folders stand at once at most: then one of them is waited for. */
const MAX_STANDING = 64;

/** A folder that is to be read, and the place of its storage. */
interface Asked {
  readonly path: VirtualPath;
  readonly place: VirtualPath;
}

interface Run extends Asked {
  readonly end: Promise<unknown>;
  readonly sinceMs: number;
}

/** The folders that a walk reads, some at once. A storage that takes long for its folders holds up nobody else's. */
export interface FolderRuns {
  /** How many stand. */
  size(): number;
  /** Places of storages of which as many folders stand as may: none of them is begun. */
  full(): VirtualPath[];
  /** Whether this folder stands. */
  isUnderWay(path: VirtualPath): boolean;
  /** Whether a folder of this storage stands. */
  stands(place: VirtualPath): boolean;
  /** Ends when all are read, but for those that stand and what was not begun beside them. @throws what `read` threw, of any folder */
  read(folders: readonly Asked[], read: (path: VirtualPath, signal: AbortSignal) => Promise<void>): Promise<void>;
  /** Resolves when a folder that stands is read, or after a while. @throws as read() */
  next(): Promise<void>;
  /** Ends all that is under way, without a result. */
  stop(): Promise<void>;
}

/** @param signal ends all reading. @param standsAfterMs another time is given by tests only */
export function createFolderRuns(signal: AbortSignal, standsAfterMs = STANDS_AFTER_MS): FolderRuns {
  const running = new Set<Run>();
  const standing = new Set<Run>();
  let stopping = new AbortController();
  let failures: unknown[] = [];

  const rethrow = () => {
    const [failure] = failures;
    if (failures.length > 0) throw failure;
  };
  const countOf = (place: VirtualPath) => [...standing].filter((run) => run.place === place).length;
  const isUnderWay = (path: VirtualPath) => standing.values().some((run) => run.path === path);
  const begin = ({ path, place }: Asked, read: (path: VirtualPath, signal: AbortSignal) => Promise<void>) => {
    const end = read(path, AbortSignal.any([signal, stopping.signal]))
      .catch((error: unknown) => void failures.push(error))
      .finally(() => {
        running.delete(run);
        standing.delete(run);
      });
    const run: Run = { path, place, end, sinceMs: performance.now() };
    running.add(run);
  };
  /** Waits for one of several, and not for long. */
  const one = async (runs: ReadonlySet<Run>) => {
    const waiting = new AbortController();
    const late = wait(standsAfterMs, undefined, { signal: waiting.signal, ref: false }).catch(() => undefined);
    await Promise.race([late, ...[...runs].map(({ end }) => end)]);
    waiting.abort();
    rethrow();
  };
  const oneRuns = async () => {
    await one(running);
    const since = performance.now() - standsAfterMs;
    for (const run of running) {
      if (run.sinceMs > since || standing.size >= MAX_STANDING) continue;
      running.delete(run);
      standing.add(run);
    }
  };

  return {
    size: () => standing.size,
    full: () => [...new Set([...standing].map(({ place }) => place))].filter((place) => countOf(place) >= PARALLEL),
    isUnderWay,
    stands: (place) => countOf(place) > 0,
    async read(folders, read) {
      for (const folder of folders.filter(({ path }) => !isUnderWay(path))) {
        while (running.size >= PARALLEL) await oneRuns();
        if (countOf(folder.place) < PARALLEL) begin(folder, read);
      }
      while (running.size > 0) await oneRuns();
      rethrow();
    },
    async next() {
      if (standing.size > 0) await one(standing);
      rethrow();
    },
    async stop() {
      stopping.abort();
      await Promise.all([...running, ...standing].map(({ end }) => end));
      stopping = new AbortController();
      failures = [];
    },
  };
}
