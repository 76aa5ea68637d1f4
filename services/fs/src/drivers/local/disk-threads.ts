import { memoryBytes } from '@wharf/pace';

/** What a thread takes under load: it has a heap of its own. */
const THREAD_BYTES = 32 * 1024 * 1024;
/** Of the memory of the process, all threads together, as a fraction. */
const MEMORY_SHARES = 4;
const LEAST = 4;
/** Who has waited so long, in milliseconds, has a thread beyond that, as long as there are not half as many more: others may hold theirs for hours, or hang. */
const LONG_MS = 1_000;
const LATE_SHARE = 1.5;
/** How often who waits looks for one that has nothing to do, in milliseconds. */
const LOOK_MS = 50;

/** Somebody who has a thread, or waits for one. */
export interface ThreadHolder {
  /** It may have its thread now. */
  begin(): void;
  /** Leaves, where its thread has had nothing to do for a moment. */
  yieldIdle(): void;
}

/** Threads that all storages have together: each storage has its own, and there may be any number of storages. */
export interface ThreadRoom {
  /** Begins now, in the place of one that has nothing to do, or when another one leaves. */
  enter(holder: ThreadHolder): void;
  /** More than once is as once. */
  leave(holder: ThreadHolder): void;
  /** Whether a storage that has a thread may have another one. */
  hasSpare(): boolean;
  /** Whether others wait: then whoever had its turn leaves. */
  isWanted(): boolean;
}

/** @internal exported for its test */
export function createThreadRoom(most: number, longMs = LONG_MS): ThreadRoom {
  const held = new Set<ThreadHolder>();
  const waiting = new Map<ThreadHolder, NodeJS.Timeout>();
  const stopWaiting = (holder: ThreadHolder) => {
    clearInterval(waiting.get(holder));
    waiting.delete(holder);
  };
  const begin = (holder: ThreadHolder) => {
    stopWaiting(holder);
    held.add(holder);
    holder.begin();
  };
  const fill = () => {
    for (const next of waiting.keys()) {
      if (held.size >= most) return;
      begin(next);
    }
  };
  return {
    enter(holder) {
      const since = performance.now();
      const look = () => {
        for (const other of held) if (waiting.has(holder)) other.yieldIdle();
        if (waiting.has(holder) && held.size < LATE_SHARE * most && performance.now() - since > longMs) begin(holder);
      };
      waiting.set(holder, setInterval(look, LOOK_MS).unref());
      fill();
      look();
    },
    leave(holder) {
      stopWaiting(holder);
      if (held.delete(holder)) fill();
    },
    hasSpare: () => held.size < most / 2,
    isWanted: () => waiting.size > 0,
  };
}

/** How many there may be in a process with so much memory. @internal exported for its test */
export function threadsOf(bytes: number): number {
  return Math.max(LEAST, Math.floor(bytes / MEMORY_SHARES / THREAD_BYTES));
}

/** Those of this process. */
export const DISK_THREADS = createThreadRoom(threadsOf(memoryBytes()));
