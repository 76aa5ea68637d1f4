import type { ChangeLog } from '../store/change-log.ts';

/** Tells the other replicas of our changes, and us of theirs, by way of the store: seconds later than the bus, but none is lost. */
export interface ChangeFeed {
  /** An entry changed through this replica. */
  note(paths: readonly string[]): void;
  start(): Promise<void>;
  /** Writes down what is not written yet. */
  stop(): Promise<void>;
}

export interface ChangeFeedOptions {
  readonly log: ChangeLog;
  readonly replica: string;
  /** Forgets what is known of these paths. */
  readonly onChange: (paths: readonly string[]) => void;
  readonly onError: (error: unknown) => void;
}

/** Changes of so many milliseconds are written together. */
const WRITE_PAUSE_MS = 250;
/** How often the log is read, in milliseconds: with the pause before writing, well below the five seconds that are promised. */
const READ_PAUSE_MS = 2_000;
/** Beyond so many paths everything counts as changed. */
const MAX_PATHS = 500;
/** So far behind the newest number a change may come late. */
const OVERLAP = 100;

export function createChangeFeed({ log, replica, onChange, onError }: ChangeFeedOptions): ChangeFeed {
  const unwritten = new Set<string>();
  const seen = new Set<number>();
  let newest = 0;
  let writing: NodeJS.Timeout | undefined;
  let reading: NodeJS.Timeout | undefined;
  let isReading = false;

  const write = async () => {
    writing = undefined;
    if (unwritten.size === 0) return;
    const paths = unwritten.size > MAX_PATHS ? ['/'] : [...unwritten];
    unwritten.clear();
    try {
      await log.append(replica, paths);
    } catch (error) {
      onError(error);
      for (const path of paths) unwritten.add(path);
      writeSoon(READ_PAUSE_MS);
    }
  };
  const writeSoon = (ms: number) => {
    writing ??= setTimeout(() => void write(), ms);
    writing.unref();
  };
  const read = async () => {
    if (isReading) return;
    isReading = true;
    try {
      for (const change of await log.since(Math.max(newest - OVERLAP, 0))) {
        if (seen.has(change._id)) continue;
        seen.add(change._id);
        newest = Math.max(newest, change._id);
        if (change.replica !== replica) onChange(change.paths);
      }
      for (const number of seen) if (number <= newest - OVERLAP) seen.delete(number);
    } catch (error) {
      onError(error);
    } finally {
      isReading = false;
    }
  };

  return {
    note(paths) {
      for (const path of paths) unwritten.add(path);
      writeSoon(WRITE_PAUSE_MS);
    },
    async start() {
      await log.init();
      newest = await log.newest();
      // What came before has nothing to tell: nothing is kept yet.
      for (let number = Math.max(newest - OVERLAP, 0) + 1; number <= newest; number += 1) seen.add(number);
      reading = setInterval(() => void read(), READ_PAUSE_MS);
      reading.unref();
    },
    async stop() {
      clearInterval(reading);
      clearTimeout(writing);
      await write();
      clearTimeout(writing);
    },
  };
}
