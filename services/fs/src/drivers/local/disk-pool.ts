import type { AppError } from '@wharf/errors';
import { cleanedUp } from '../../driver-contract/calls.ts';
import { abortError, storageError, throwIfAborted } from '../../driver-contract/storage-error.ts';
import type { LocalSettings } from './config.ts';
import type { DiskCall, DiskReport } from './disk-messages.ts';
import type { DiskFacts, DiskOperations } from './disk-operations.ts';
import { DISK_THREADS, type DiskThreads, HANGS_MS, type ThreadPlace } from './disk-threads.ts';
import { fromDisk } from './errors.ts';
import { handedOver } from './handed-over.ts';
import { createIoSlots } from './io-slots.ts';

type Values<Op extends keyof DiskOperations> = DiskOperations[Op] extends (signal: AbortSignal, ...values: infer V) => unknown ? V : never;
type Result<Op extends keyof DiskOperations> = Awaited<ReturnType<DiskOperations[Op]>>;

interface Call {
  readonly operation: keyof DiskOperations;
  readonly startedAt: number;
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: AppError) => void;
  /** Set when the caller has gone: the result is given up by this. */
  giveUp: ((result: unknown) => void) | undefined;
  /** Lets go of the caller's signal. */
  readonly unwatch: () => void;
  /** Fails for its caller; what has begun is cancelled, and stays a call until the worker has answered. */
  readonly leave: (error: AppError) => void;
}

interface Lane {
  readonly place: ThreadPlace;
  readonly calls: Map<number, Call>;
  /** Calls of the next batch, by operation and path where others may join. */
  waiting: Map<string, DiskCall & { ids: number[] }>;
  /** Calls of the batch that is on its way: none of them has begun for sure. */
  readonly sent: Set<number>;
  /** A batch is to be sent, or on its way. */
  isBusy: boolean;
  lastAnswerAt: number;
}

/** What the driver needs of the threads. */
export type Disk = Pick<DiskPool, keyof DiskPool>;

/** A worker with calls that gave no answer for this long waits for its disk: further calls go to another. */
const STUCK_AFTER_MS = 50;
/** These may take long while their thread goes on with others. */
const WAITS_FOR_SYNC: ReadonlySet<keyof DiskOperations> = new Set([
  'addUp',
  'beginWrite',
  'copy',
  'discard',
  'findFacts',
  'makeDirectory',
  'publish',
  'publishDraft',
  'publishSealed',
  'remove',
  'rename',
  'seal',
  'sizeUpCopy',
  'sweep',
  'writeMany',
  'writeWhole',
]);
/** Their results may be shared: they change nothing, and whoever joins before they have begun gets what is true after that moment. */
const SHARED: ReadonlySet<keyof DiskOperations> = new Set(['findOnHost', 'list', 'listNames', 'open', 'stat', 'statMany']);
/** Whoever leaves is told what became of it: it may be there, and more in it than its caller may have. */
const AWAITED: ReadonlySet<keyof DiskOperations> = new Set(['copy']);
/** So long, in milliseconds: by then it has ended or taken back what it made, unless its disk hangs. As long as a rename is waited for. */
const AWAITED_MS = 300_000;
const MAX_LANES = 4;
const IDLE_AFTER_MS = 60_000;
/** What could not be cleaned up is looked at again within a minute. */
const SWEEP_AGAIN_MS = 50_000;

/**
 * Runs disk operations of one storage on threads of its own, so that a disk that hangs blocks nothing but itself.
 *
 * One thread does all the work as long as it answers. Calls that come while it works go to it together, and those that ask for the very
 * same are done once: what many look at costs little. Threads that idle end. Where there are more storages than the memory has threads for, some share one.
 */
export class DiskPool {
  /** For reads and writes of bytes, which run on the threads of the process. */
  readonly slots = createIoSlots();
  readonly #lanes: Lane[] = [];
  #settings: LocalSettings & Partial<DiskFacts>;
  #nextId = 1;
  #isClosed = false;
  #nextSweep: NodeJS.Timeout | undefined;
  readonly #awaitedMs: number;
  readonly #threads: DiskThreads;

  /** @param awaitedMs another time than the standard one is given by tests only, and so are other threads */
  constructor(settings: LocalSettings, awaitedMs = AWAITED_MS, threads = DISK_THREADS) {
    this.#settings = settings;
    this.#awaitedMs = awaitedMs;
    this.#threads = threads;
  }

  /** Resolves the root and probes its disk once and for all, and cleans up behind dead processes. @throws AppError, for the admin */
  async start(signal: AbortSignal | undefined): Promise<DiskFacts> {
    const facts = await this.call('findFacts', [], signal);
    this.#settings = { ...this.#settings, ...facts };
    await this.#sweep(signal);
    return facts;
  }

  /** Cleans up behind dead processes; what may belong to one that was about to end is looked at again. */
  async #sweep(signal?: AbortSignal): Promise<void> {
    if (!(await this.call('sweep', [], signal))) this.#sweepAgain();
  }

  #sweepAgain(): void {
    if (this.#isClosed) return;
    this.#nextSweep = setTimeout(() => void this.#sweep().catch(() => this.#sweepAgain()), SWEEP_AGAIN_MS);
    this.#nextSweep.unref();
  }

  /**
   * @param giveUp takes back a result that comes after the caller has gone, for results that hold something
   * @throws AppError; CANCELLED at once when the signal aborts, though a change that has begun may still happen; of a copy that has begun what became of it,
   * or CANCELLED where nothing is heard of it for long: then its disk hangs
   */
  call<Op extends keyof DiskOperations>(
    operation: Op,
    values: Values<Op>,
    signal?: AbortSignal,
    giveUp: (result: Result<Op>) => void = () => undefined,
  ): Promise<Result<Op>> {
    return new Promise<Result<Op>>((resolve, reject) => {
      throwIfAborted(signal);
      if (this.#isClosed) throw storageError('STORAGE_UNAVAILABLE');
      const lane = this.#pickLane();
      const id = this.#nextId++;
      const cancel = () => lane.place.send({ cancel: id }, []);
      const leave = (error: AppError) => {
        reject(error);
        call.unwatch();
        if (withdraw(lane, id)) return;
        call.giveUp = (result) => giveUp(result as Result<Op>);
        cancel();
      };
      let late: NodeJS.Timeout | undefined;
      const onAbort = () => {
        const end = () => leave(abortError(signal as AbortSignal));
        if (!AWAITED.has(operation) || isWaiting(lane, id)) return end();
        cancel();
        late = setTimeout(end, this.#awaitedMs).unref();
      };
      const call: Call = {
        operation,
        startedAt: performance.now(),
        resolve: (result) => resolve(result as Result<Op>),
        reject,
        giveUp: undefined,
        unwatch() {
          signal?.removeEventListener('abort', onAbort);
          clearTimeout(late);
        },
        leave,
      };
      if (lane.calls.size === 0) lane.place.port.ref();
      lane.calls.set(id, call);
      enqueue(lane, id, operation, values);
      signal?.addEventListener('abort', onAbort, { once: true });
    });
  }

  /** Ends all threads; calls that still run fail, and have a moment to clean up. Safe to call twice. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#nextSweep);
    const lanes = [...this.#lanes];
    for (const lane of lanes) for (const call of lane.calls.values()) call.leave(storageError('STORAGE_UNAVAILABLE'));
    await cleanedUp(Promise.all(lanes.map(emptied)));
    await Promise.all(lanes.map((lane) => this.#drop(lane)));
  }

  #pickLane(): Lane {
    this.#leaveHeldUp();
    const now = performance.now();
    const free = this.#lanes.find((lane) => !isStuck(lane, now) && heldUpMs(lane) === 0);
    if (free !== undefined) return free;
    const further = this.#lanes.length < MAX_LANES ? this.#addLane() : undefined;
    return further ?? this.#lanes.reduce((least, lane) => (lane.calls.size < least.calls.size ? lane : least));
  }

  /** What waits on a thread where another storage hangs was not begun: its callers are told so. */
  #leaveHeldUp(): void {
    for (const lane of this.#lanes.filter((held) => heldUpMs(held) > HANGS_MS)) void this.#drop(lane);
  }

  #addLane(): Lane | undefined {
    const onEnd = (error: Error | undefined) => this.#fail(lane, error);
    const places = this.#lanes.map((other) => other.place);
    const place = this.#threads.join(this.#settings, onEnd, { places, areHeldUp: this.#lanes.every((other) => heldUpMs(other) > 0) });
    if (!place) return undefined;
    const lane: Lane = { place, calls: new Map(), waiting: new Map(), sent: new Set(), isBusy: false, lastAnswerAt: performance.now() };
    this.#lanes.push(lane);
    place.port.on('message', (report: DiskReport) => settle(lane, report));
    this.#endWhenIdle(lane);
    return lane;
  }

  #endWhenIdle(lane: Lane): void {
    const timer = setInterval(() => {
      this.#leaveHeldUp();
      if (lane.calls.size > 0 || performance.now() - lane.lastAnswerAt < IDLE_AFTER_MS) return;
      void this.#drop(lane);
    }, IDLE_AFTER_MS / 2);
    timer.unref();
    lane.place.port.once('close', () => clearInterval(timer));
  }

  #fail(lane: Lane, cause: unknown): void {
    const index = this.#lanes.indexOf(lane);
    if (index !== -1) this.#lanes.splice(index, 1);
    for (const call of lane.calls.values()) {
      call.unwatch();
      call.reject(storageError('STORAGE_UNAVAILABLE', cause));
    }
    lane.calls.clear();
    lane.waiting.clear();
  }

  async #drop(lane: Lane): Promise<void> {
    this.#fail(lane, undefined);
    await lane.place.leave();
  }
}

/** Calls of one turn of the loop, and those that come while the worker has others, make one batch. */
function enqueue(lane: Lane, id: number, operation: keyof DiskOperations, values: readonly unknown[]): void {
  const key = SHARED.has(operation) ? `${operation} ${values[0]}` : `${id}`;
  const same = lane.waiting.get(key);
  if (same?.values.every((value, index) => value === values[index])) same.ids.push(id);
  else lane.waiting.set(same === undefined ? key : `${id}`, { ids: [id], operation, values });
  sendSoon(lane);
}

function sendSoon(lane: Lane): void {
  if (lane.isBusy) return;
  lane.isBusy = true;
  setImmediate(() => {
    const batch = [...lane.waiting.values()].filter(({ ids }) => ids.length > 0);
    lane.waiting.clear();
    for (const { ids } of batch) for (const id of ids) lane.sent.add(id);
    lane.place.send(
      { batch },
      batch.flatMap(({ operation, values }) => handedOver(operation, values)),
    );
  });
}

/** Whether a call was not sent yet. */
function isWaiting({ waiting }: Lane, id: number): boolean {
  return waiting.values().some(({ ids }) => ids.includes(id));
}

/** Takes a call back that was not sent yet. */
function withdraw(lane: Lane, id: number): boolean {
  for (const { ids } of lane.waiting.values()) {
    const index = ids.indexOf(id);
    if (index === -1) continue;
    ids.splice(index, 1);
    lane.calls.delete(id);
    if (lane.calls.size === 0) lane.place.port.unref();
    return true;
  }
  return false;
}

/** Resolves when a lane has no calls any more. */
function emptied({ place, calls }: Lane): Promise<void> {
  return new Promise((resolve) => {
    const look = () => {
      if (calls.size === 0) resolve();
    };
    look();
    place.port.on('message', look);
    place.port.once('close', () => resolve());
  });
}

function settle(lane: Lane, { answers, isBatchDone }: DiskReport): void {
  lane.lastAnswerAt = performance.now();
  for (const { ids, result, error } of answers) {
    for (const id of ids) {
      const call = lane.calls.get(id);
      lane.calls.delete(id);
      call?.unwatch();
      if (error !== undefined) call?.reject(fromDisk(error));
      else if (call?.giveUp !== undefined) call.giveUp(result);
      else call?.resolve(result);
    }
  }
  if (isBatchDone) {
    lane.isBusy = false;
    lane.sent.clear();
    if (lane.waiting.size > 0) sendSoon(lane);
  }
  if (lane.calls.size === 0) lane.place.port.unref();
}

function isStuck({ calls, lastAnswerAt }: Lane, now: number): boolean {
  for (const { operation, startedAt } of calls.values()) {
    if (!WAITS_FOR_SYNC.has(operation)) return now - Math.max(lastAnswerAt, startedAt) > STUCK_AFTER_MS;
  }
  return false;
}

/** For how long another storage has held up the thread of a lane, in milliseconds. */
function heldUpMs(lane: Lane): number {
  return lane.place.heldUpMs(() => lane.calls.keys().some((id) => !lane.sent.has(id) && !isWaiting(lane, id)));
}
