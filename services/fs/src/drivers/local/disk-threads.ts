import { MessageChannel, type MessagePort, Worker } from 'node:worker_threads';
import { memoryBytes } from '@wharf/pace';
import type { LocalSettings } from './config.ts';

/** What a thread takes under load: it has a heap of its own. */
const THREAD_BYTES = 32 * 1024 * 1024;
/** Of the memory of the process, all threads together, as a fraction. */
const MEMORY_SHARES = 4;
const LEAST = 4;
/** For so long, in milliseconds, a disk does not answer that hangs. Threads that wait for such a one are not counted, up to so many times all others. */
const HANGS_MS = 10_000;
const HANGING_TIMES = 2;

/** Who asks a thread for something. */
export interface ThreadUser {
  /** For how long, in milliseconds, it has had no answer that should be quick; 0: for a moment at most. */
  stuckMs(): number;
  /** The thread has ended by itself. */
  onEnd(error: Error | undefined): void;
}

export interface ThreadPlace {
  /** The way to the thread, as `disk-worker.ts` serves it. */
  readonly port: MessagePort;
  /** Ends when what it used of the thread is given back; what goes on for it there is cancelled. */
  leave(): Promise<void>;
}

/** Threads that all storages have together: a storage has one of its own as long as there are so many, beyond that some share one. */
export interface DiskThreads {
  /** @param isFirst of this storage: further ones are of its own only where less than half of all are taken */
  join(settings: LocalSettings, user: ThreadUser, isFirst: boolean): ThreadPlace;
  count(): number;
}

interface Thread {
  readonly worker: Worker;
  readonly users: Set<ThreadUser>;
}

/** @internal exported for its test */
export function createDiskThreads(most: number): DiskThreads {
  const threads = new Set<Thread>();
  const stuckMs = ({ users }: Thread) => Math.max(...users.values().map((user) => user.stuckMs()));
  const begin = (): Thread => {
    const worker = new Worker(new URL('./disk-worker.ts', import.meta.url), {
      // Not those of the process, which may be meant for its own program, such as `--input-type`.
      execArgv: ['--disable-warning=ExperimentalWarning'],
      // Handles travel between threads: the end of this one must not close them.
      trackUnmanagedFds: false,
      resourceLimits: { maxOldGenerationSizeMb: 256, maxYoungGenerationSizeMb: 8 },
    });
    const thread: Thread = { worker, users: new Set() };
    const end = (error?: Error) => {
      threads.delete(thread);
      for (const user of thread.users) user.onEnd(error);
      thread.users.clear();
    };
    // Those who wait for something keep the process, by their ports.
    worker.on('error', end).on('exit', () => end());
    worker.unref();
    threads.add(thread);
    return thread;
  };
  const pick = (isFirst: boolean): Thread => {
    const waits = new Map(threads.values().map((thread) => [thread, stuckMs(thread)]));
    const hanging = waits.values().reduce((sum, ms) => sum + (ms > HANGS_MS ? 1 : 0), 0);
    const taken = threads.size - Math.min(hanging, HANGING_TIMES * most);
    if (taken < (isFirst ? most : most / 2)) return begin();
    // One that answers, then one with few.
    const [best] = [...waits].sort(([one, ms], [other, otherMs]) => ms - otherMs || one.users.size - other.users.size);
    return best?.[0] ?? begin();
  };
  return {
    count: () => threads.size,
    join(settings, user, isFirst) {
      const thread = pick(isFirst);
      const { port1: port, port2 } = new MessageChannel();
      thread.worker.postMessage({ port: port2, settings }, [port2]);
      thread.users.add(user);
      return {
        port,
        async leave() {
          const isLast = thread.users.delete(user) && thread.users.size === 0;
          port.close();
          if (!isLast) return;
          threads.delete(thread);
          await thread.worker.terminate();
        },
      };
    },
  };
}

/** How many there may be in a process with so much memory. @internal exported for its test */
export function threadsOf(bytes: number): number {
  return Math.max(LEAST, Math.floor(bytes / MEMORY_SHARES / THREAD_BYTES));
}

/** Those of this process. */
export const DISK_THREADS = createDiskThreads(threadsOf(memoryBytes()));
