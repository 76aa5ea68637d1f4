import { setTimeout as wait } from 'node:timers/promises';
import type { VirtualPath } from '@wharf/paths';

/** A folder that takes longer than this stands: others go on beside it. In milliseconds. */
const STANDS_AFTER_MS = 2_000;
/** So many folders are read at once, beside those that stand; of one storage no more are read, those that stand among them. */
const PARALLEL = 4;

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
  /** The place of the storage of each folder that stands. */
  standing(): VirtualPath[];
  /** Places of storages that wait: as many of their folders stand as may, or they took long for all that was read last, and others come first. */
  waiting(): VirtualPath[];
  /** Others have had their turn. @returns whether any storage waited for that */
  goOn(): boolean;
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
  /** Storages that took long for all that was read at once. */
  const slow = new Set<VirtualPath>();
  let stopping = new AbortController();
  let failures: unknown[] = [];

  const rethrow = () => {
    const [failure] = failures;
    if (failures.length > 0) throw failure;
  };
  const countOf = (place: VirtualPath, runs: Iterable<Run> = standing) => [...runs].filter((run) => run.place === place).length;
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
      if (run.sinceMs > since) continue;
      running.delete(run);
      standing.add(run);
    }
  };

  return {
    standing: () => [...standing].map(({ place }) => place),
    waiting: () => [
      ...new Set([
        ...standing
          .values()
          .map(({ place }) => place)
          .filter((place) => countOf(place) >= PARALLEL),
        ...slow,
      ]),
    ],
    goOn() {
      const isAny = slow.size > 0;
      slow.clear();
      return isAny;
    },
    isUnderWay,
    stands: (place) => countOf(place) > 0,
    async read(folders, read) {
      const since = performance.now();
      for (const folder of folders.filter(({ path }) => !isUnderWay(path))) {
        while (running.size >= PARALLEL) await oneRuns();
        if (countOf(folder.place, [...running, ...standing]) < PARALLEL) begin(folder, read);
      }
      while (running.size > 0) await oneRuns();
      rethrow();
      const [place, ...others] = new Set(folders.map((folder) => folder.place));
      if (place !== undefined && others.length === 0 && performance.now() - since > standsAfterMs / 2) slow.add(place);
      else slow.clear();
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
