import { MAX_CHANGED_PATHS } from '@wharf/models';
import { within } from '@wharf/service-kit';
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
  /** Forgets what is known of these paths, and of all below them. */
  readonly onChange: (paths: readonly string[]) => void;
  /** Milliseconds, monotonic. */
  readonly clock: () => number;
  readonly onError: (error: unknown) => void;
}

/** Changes of so many milliseconds are written together. */
const WRITE_PAUSE_MS = 250;
/** How often the log is read, in milliseconds: with the pause before writing, well below the five seconds that are promised. */
const READ_PAUSE_MS = 2_000;
/** A change whose number was drawn so long ago, in milliseconds, and that is not there, will not come. */
const LATE_MS = 10_000;
/** Changes that nobody could read for so long, in milliseconds, are passed over: everything counts as changed. */
const MAX_SILENCE_MS = 60_000;
const EVERYTHING = ['/'];
/** What is told by name at a time, in characters: it is kept for minutes, in a store that others need. */
const MAX_TOLD_LENGTH = 32 * 1024;

export function createChangeFeed({ log, replica, onChange, clock, onError }: ChangeFeedOptions): ChangeFeed {
  const unwritten = new Set<string>();
  /** What came first has a number as soon as it is heard of, so that the others miss what ends with this process. Later paths cannot have it: some may have passed over it. */
  let first: { readonly paths: ReadonlySet<string>; readonly number: Promise<number> } | undefined;
  /** Every change up to this number was heard of, or given up. */
  let heardUpTo = 0;
  /** Those beyond that were heard of. */
  const heard = new Set<number>();
  let missingSince: number | undefined;
  let readAt = 0;
  let writing: NodeJS.Timeout | undefined;
  let reading: NodeJS.Timeout | undefined;
  let isReading = false;

  const append = async (paths: ReadonlySet<string>, number?: Promise<number>) => {
    if (paths.size === 0) return;
    const named = namedOf(paths);
    try {
      await log.append(replica, named, number);
    } catch (error) {
      onError(error);
      for (const path of named) unwritten.add(path);
      writeSoon(READ_PAUSE_MS);
    }
  };
  const write = async () => {
    writing = undefined;
    const [early, later] = [first, new Set(unwritten)];
    first = undefined;
    unwritten.clear();
    await Promise.all([early && append(early.paths, early.number), append(later)]);
  };
  const writeSoon = (ms: number) => {
    writing ??= setTimeout(() => void write(), ms);
    writing.unref();
  };
  /** Goes on behind a number; what lies before it counts as changed, whatever it was. */
  const giveUpTo = (number: number) => {
    onChange(EVERYTHING);
    heardUpTo = number;
    missingSince = undefined;
    for (const each of heard) if (each <= number) heard.delete(each);
  };
  const take = async () => {
    const newest = await log.newest();
    if (clock() - readAt > MAX_SILENCE_MS) giveUpTo(newest);
    for await (const change of log.since(heardUpTo)) {
      if (heard.has(change._id)) continue;
      heard.add(change._id);
      if (change.replica !== replica) onChange(change.paths);
    }
    readAt = clock();
    const before = heardUpTo;
    while (heard.delete(heardUpTo + 1)) heardUpTo += 1;
    if (heardUpTo >= newest || heardUpTo > before) missingSince = undefined;
    if (heardUpTo >= newest) return;
    missingSince ??= clock();
    if (clock() - missingSince > LATE_MS) giveUpTo(newest);
  };
  const read = async () => {
    if (isReading) return;
    isReading = true;
    try {
      await within(MAX_SILENCE_MS, take(), 'the log of changes cannot be read');
    } catch (error) {
      onError(error);
      // The caches may be wrong by now: which part of them, nobody knows.
      if (clock() - readAt > MAX_SILENCE_MS) onChange(EVERYTHING);
    } finally {
      isReading = false;
    }
  };

  return {
    note(paths) {
      if (first) for (const path of paths) unwritten.add(path);
      else {
        first = { paths: new Set(paths), number: log.draw() };
        // Told where it is used.
        first.number.catch(() => undefined);
      }
      writeSoon(WRITE_PAUSE_MS);
    },
    async start() {
      await log.init();
      // Earlier changes do not matter: the caches are still empty.
      heardUpTo = await log.newest();
      readAt = clock();
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

/** The paths, or everything where they are too many. */
function namedOf(paths: ReadonlySet<string>): readonly string[] {
  if (paths.size > MAX_CHANGED_PATHS) return EVERYTHING;
  let length = 0;
  for (const path of paths) length += path.length;
  return length > MAX_TOLD_LENGTH ? EVERYTHING : [...paths];
}
