import { MessageChannel, type MessagePort, Worker } from 'node:worker_threads';
import { memoryBytes } from '@wharf/pace';
import { cleanedUp } from '../../driver-contract/calls.ts';
import type { LocalSettings } from './config.ts';
import type { DiskReport, DiskRequest } from './disk-messages.ts';

/** What a thread takes under load: it has a heap of its own. */
const THREAD_BYTES = 32 * 1024 * 1024;
/** Of the memory of the process, all threads together, as a fraction. */
const MEMORY_SHARES = 4;
const LEAST = 4;
/** A thread that takes no longer, in milliseconds, holds nobody up. */
const MOMENT_MS = 50;
/** For so long, in milliseconds, a disk does not answer that hangs. Threads that wait for such a one are not counted, up to so many times all others. */
export const HANGS_MS = 10_000;
const HANGING_TIMES = 2;

/** What a thread is told of a place. */
export interface NewPlace {
  readonly port: MessagePort;
  readonly settings: LocalSettings;
  /** Not 0; the thread has it in its data as long as it is at calls from there. */
  readonly id: number;
  /** Not 0 as soon as nobody waits there any more. */
  readonly ended: Int32Array;
}

export interface ThreadPlace {
  /** Whoever waits for an answer holds the process by it. */
  readonly port: MessagePort;
  send(request: DiskRequest, transfer: readonly ArrayBuffer[]): void;
  /**
   * For how long, in milliseconds, the thread has not come to what it was sent, because of another place; 0: it comes to it, or has for a moment not.
   *
   * @param hasBegun whether something that this place has sent before is not done, which may be what holds the thread
   */
  heldUpMs(hasBegun: () => boolean): number;
  /** Ends when what it used of the thread is given back, or soon. What was not begun is not done any more, and what goes on for it is cancelled. */
  leave(): Promise<void>;
}

/** Threads that all storages have together: a storage has one of its own as long as there are so many, beyond that some share one. */
export interface DiskThreads {
  /**
   * @param onEnd the thread has ended by itself
   * @param own the places that the storage has, and whether others hold up all of these: only then a further one shares a thread
   * @returns undefined: no further one may be had
   */
  join(settings: LocalSettings, onEnd: (error: Error | undefined) => void, own: OwnPlaces): ThreadPlace | undefined;
  count(): number;
}

export interface OwnPlaces {
  readonly places: readonly ThreadPlace[];
  readonly areHeldUp: boolean;
}

interface Thread {
  readonly worker: Worker;
  /** Of which place the calls are that it is at; 0: of none. */
  readonly isAt: Int32Array;
  /** When it has told something, in milliseconds. */
  heardAt: number;
  readonly users: Map<ThreadPlace, ThreadUser>;
}

interface ThreadUser {
  readonly onEnd: (error: Error | undefined) => void;
  /** Since when the thread has something to do, in milliseconds. */
  askedAt: number | undefined;
}

/** @internal exported for its test */
export function createDiskThreads(most: number): DiskThreads {
  const threads = new Set<Thread>();
  let lastId = 0;
  const begin = (): Thread => {
    const thread = startThread();
    const end = (error?: Error) => {
      threads.delete(thread);
      for (const { onEnd } of thread.users.values()) onEnd(error);
      thread.users.clear();
    };
    // Those who wait for something keep the process, by their ports.
    thread.worker
      .on('error', end)
      .on('exit', () => end())
      .unref();
    threads.add(thread);
    return thread;
  };
  const pick = ({ places, areHeldUp }: OwnPlaces): Thread | undefined => {
    const isFirst = places.length === 0;
    const hanging = threads.values().reduce((sum, thread) => sum + (silentMs(thread) > HANGS_MS ? 1 : 0), 0);
    const taken = threads.size - Math.min(hanging, HANGING_TIMES * most);
    if (taken < (isFirst ? most : most / 2)) return begin();
    // A storage whose own disk holds it up would hold up others, too.
    if (!isFirst && !areHeldUp) return undefined;
    const others = [...threads].filter(({ users }) => !places.some((place) => users.has(place)));
    const [best] = others.sort((one, other) => silentMs(one) - silentMs(other) || one.users.size - other.users.size);
    return best && (isFirst || silentMs(best) === 0) ? best : undefined;
  };
  const leave = async (thread: Thread, place: ThreadPlace) => {
    if (!thread.users.delete(place) || thread.users.size > 0) return;
    threads.delete(thread);
    // Not before the call ends that it is at.
    await cleanedUp(thread.worker.terminate());
  };
  return {
    count: () => threads.size,
    join(settings, onEnd, own) {
      const thread = pick(own);
      if (!thread) return undefined;
      lastId += 1;
      return enter(thread, { settings, onEnd, id: lastId }, leave);
    },
  };
}

function enter(
  thread: Thread,
  { settings, onEnd, id }: Pick<NewPlace, 'settings' | 'id'> & Pick<ThreadUser, 'onEnd'>,
  leave: (thread: Thread, place: ThreadPlace) => Promise<void>,
): ThreadPlace {
  const ended = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  const { port1: port, port2 } = new MessageChannel();
  thread.worker.postMessage({ port: port2, settings, id, ended } satisfies NewPlace, [port2]);
  const user: ThreadUser = { onEnd, askedAt: undefined };
  port.on('message', ({ isBatchDone }: DiskReport) => {
    thread.heardAt = performance.now();
    if (isBatchDone) user.askedAt = undefined;
  });
  const place: ThreadPlace = {
    port,
    send(request, transfer) {
      if ('batch' in request) user.askedAt = performance.now();
      port.postMessage(request, [...transfer]);
    },
    heldUpMs(hasBegun) {
      const ms = silentMs(thread);
      const isAt = Atomics.load(thread.isAt, 0);
      return ms === 0 || isAt === id || (isAt === 0 && hasBegun()) ? 0 : ms;
    },
    leave() {
      Atomics.store(ended, 0, 1);
      port.close();
      return leave(thread, place);
    },
  };
  thread.users.set(place, user);
  return place;
}

function startThread(): Thread {
  const isAt = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  const worker = new Worker(new URL('./disk-worker.ts', import.meta.url), {
    workerData: isAt,
    // Not those of the process, which may be meant for its own program, such as `--input-type`.
    execArgv: ['--disable-warning=ExperimentalWarning'],
    // Handles travel between threads: the end of this one must not close them.
    trackUnmanagedFds: false,
    resourceLimits: { maxOldGenerationSizeMb: 256, maxYoungGenerationSizeMb: 8 },
  });
  return { worker, isAt, heardAt: 0, users: new Map() };
}

/** For how long, in milliseconds, a thread has not come to what it was sent; 0: for a moment. */
function silentMs({ heardAt, users }: Thread): number {
  let firstAskedAt = Number.POSITIVE_INFINITY;
  for (const { askedAt = firstAskedAt } of users.values()) firstAskedAt = Math.min(firstAskedAt, askedAt);
  const ms = performance.now() - Math.max(heardAt, firstAskedAt);
  return ms > MOMENT_MS ? ms : 0;
}

/** How many there may be in a process with so much memory. @internal exported for its test */
export function threadsOf(bytes: number): number {
  return Math.max(LEAST, Math.floor(bytes / MEMORY_SHARES / THREAD_BYTES));
}

/** Those of this process. */
export const DISK_THREADS = createDiskThreads(threadsOf(memoryBytes()));
