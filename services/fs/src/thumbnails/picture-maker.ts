import { type ChildProcess, fork } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { AppError } from '@wharf/errors';
import { createFairPlaces, memoryBytes, takenBytes } from '@wharf/pace';
import { readImageHeader } from './image-header.ts';
import type { PictureAnswer, PictureRequest } from './picture-process.ts';
import { LARGE_PIXELS, MAKE_TIMEOUT_MS, MAX_DECODED_BYTES, MAX_PIXELS, MAX_PROCESS_BYTES } from './thumbnail-limits.ts';

/** Makes thumbnails in processes of their own. */
export interface PictureMaker {
  /**
   * The picture as a PNG of 144 pixels' width, upright.
   *
   * @param options.caller for whom it is: those of several are made by turns, at most two of one are on their way, and one large one.
   * @param options.signal ends the wait for the turn
   * @throws AppError INVALID_ARGUMENT for what is no picture, or one that is too large: decided by its header, before anything is decoded;
   * DEADLINE_EXCEEDED | QUOTA_EXCEEDED when it takes too much time or memory; OVERLOADED when no process can be
   * started, the system ends it, or it would fill the memory that is left
   */
  make(image: Uint8Array, options?: { readonly caller?: string; readonly signal?: AbortSignal }): Promise<Uint8Array>;
  close(): void;
}

export interface PictureLimits {
  readonly timeoutMs?: number;
  readonly maxProcessBytes?: number;
  /** What the processes for pictures may hold together right now. */
  readonly roomBytes?: () => number;
}

const MAX_PROCESSES = 2;
const IDLE_MS = 20_000;
const MEMORY_LOOK_MS = 50;
const PAGE_BYTES = 4096;
/** What stays free of the memory beside us and them: what they take between two looks. */
const FREE_PART = 1 / 8;

interface Job {
  readonly id: number;
  readonly image: Uint8Array;
  readonly isLarge: boolean;
  readonly resolve: (png: Uint8Array) => void;
  readonly reject: (error: AppError) => void;
}

interface Hand {
  readonly child: ChildProcess;
  job: Job | undefined;
  timer: NodeJS.Timeout | undefined;
  /** What it held when it was last looked at. */
  bytes: number;
  /** Ends what watches over the job. */
  unwatch: () => void;
}

export function createPictureMaker(limits: PictureLimits = {}): PictureMaker {
  const processes = createProcesses(limits);
  /** One more than can be made, so that no process waits for the next. */
  const turns = { ofSmall: createFairPlaces(MAX_PROCESSES + 1), ofLarge: createFairPlaces(2) };
  return {
    async make(image, { caller = '', signal } = {}) {
      const isLarge = pixelsOf(image) > LARGE_PIXELS;
      const inTurn = isLarge ? turns.ofLarge : turns.ofSmall;
      return inTurn(caller, () => processes.make(image, isLarge), signal);
    },
    close: () => processes.close(),
  };
}

/** The processes, which take pictures in the order in which they come, of large ones one at a time. */
function createProcesses(limits: PictureLimits) {
  const { timeoutMs = MAKE_TIMEOUT_MS, maxProcessBytes = MAX_PROCESS_BYTES, roomBytes = memoryLeft } = limits;
  const hands: Hand[] = [];
  const waiting: Job[] = [];
  let nextId = 1;
  let isClosed = false;

  const next = () => {
    const isLargeBusy = hands.some(({ job }) => job?.isLarge);
    const index = waiting.findIndex((job) => !job.isLarge || !isLargeBusy);
    const hand = hands.find(({ job }) => job === undefined);
    if (index === -1 || (!hand && hands.length === MAX_PROCESSES)) return;
    const [job] = waiting.splice(index, 1);
    const started = hand ?? addHand();
    if (job && started) begin(started, job);
    else {
      job?.reject(noRoom());
      next();
    }
  };
  const begin = (hand: Hand, job: Job) => {
    clearTimeout(hand.timer);
    hand.job = job;
    hand.child.ref();
    hand.child.channel?.ref();
    hand.timer = setTimeout(() => give(hand, new AppError('DEADLINE_EXCEEDED', 'the picture took too long')), timeoutMs);
    hand.unwatch = watchMemory(hand.child, (bytes) => {
      hand.bytes = bytes;
      const excess = excessOf(hand, hands, { maxProcessBytes, roomBytes, drop });
      if (excess) give(hand, excess);
    });
    hand.child.send({ id: job.id, sizeBytes: job.image.byteLength } satisfies PictureRequest, (error) => {
      if (error) give(hand, noRoom());
    });
    // Beside the message: in it 64 MiB would be copied within one turn.
    hand.child.stdin?.write(job.image);
  };
  /** Ends the job, with the process when it failed. */
  const give = (hand: Hand, outcome: Uint8Array | AppError, isProcessFine = false) => {
    clearTimeout(hand.timer);
    hand.unwatch();
    const { job } = hand;
    hand.job = undefined;
    // What a large picture took is given back with the process.
    if (isProcessFine && !job?.isLarge) rest(hand);
    else drop(hand);
    if (AppError.is(outcome)) job?.reject(outcome);
    else job?.resolve(outcome);
    next();
  };
  const rest = (hand: Hand) => {
    // An idle process keeps nobody else alive.
    hand.child.unref();
    hand.child.channel?.unref();
    hand.timer = setTimeout(() => drop(hand), IDLE_MS);
    hand.timer.unref();
  };
  const drop = (hand: Hand) => {
    const index = hands.indexOf(hand);
    if (index !== -1) hands.splice(index, 1);
    clearTimeout(hand.timer);
    hand.child.kill('SIGKILL');
  };
  /** Undefined: the system gives no process, or no file handle for one. */
  const addHand = (): Hand | undefined => {
    const child = startProcess();
    if (!child) return undefined;
    const hand: Hand = { child, job: undefined, timer: undefined, bytes: 0, unwatch: () => {} };
    hands.push(hand);
    child.on('message', ({ id, png }: PictureAnswer) => {
      if (hand.job?.id === id) give(hand, png ?? unreadable(), true);
    });
    child.on('error', (error) => give(hand, lost(error)));
    // One that has a job was not ended so by us: the system has, for want of memory, which is no matter of the picture.
    child.on('exit', (_, signal) => give(hand, signal === 'SIGKILL' ? noRoom() : lost(undefined)));
    return hand;
  };

  return {
    make(image: Uint8Array, isLarge: boolean): Promise<Uint8Array> {
      if (isClosed) return Promise.reject(lost(undefined));
      const { promise, resolve, reject } = Promise.withResolvers<Uint8Array>();
      waiting.push({ id: nextId++, image, isLarge, resolve, reject });
      next();
      return promise;
    },
    close(): void {
      isClosed = true;
      for (const job of waiting.splice(0)) job.reject(lost(undefined));
      for (const hand of [...hands]) give(hand, lost(undefined));
    },
  };
}

function startProcess(): ChildProcess | undefined {
  try {
    const child = fork(new URL('./picture-process.ts', import.meta.url), {
      // Nothing of ours: no settings, no secrets.
      env: {},
      execArgv: ['--disable-warning=ExperimentalWarning', '--max-old-space-size=64', '--max-semi-space-size=2'],
      serialization: 'advanced',
      stdio: ['pipe', 'ignore', 'ignore', 'ipc'],
    });
    // What it does not take is told by its end.
    child.stdin?.on('error', () => undefined);
    if (child.pid !== undefined) return child;
    // It tells why in a moment, and cannot be sent anything.
    child.on('error', () => undefined);
  } catch {
    // Node throws for what it does not expect.
  }
  return undefined;
}

function pixelsOf(image: Uint8Array): number {
  const header = readImageHeader(image);
  if (header === undefined) throw unreadable();
  const { width, height, bytesPerPixel } = header;
  const pixels = width * height;
  if (pixels > MAX_PIXELS || pixels * bytesPerPixel > MAX_DECODED_BYTES)
    throw new AppError('INVALID_ARGUMENT', `a picture of ${width} x ${height} pixels is too large`);
  return pixels;
}

function unreadable(): AppError {
  return new AppError('INVALID_ARGUMENT', 'the file is not a picture that can be shown small');
}

function noRoom(): AppError {
  return new AppError('OVERLOADED', 'there is no room to make thumbnails, try again in a moment');
}

function lost(cause: unknown): AppError {
  return new AppError('CONTENT_CORRUPT', 'the picture could not be read', { cause });
}

/**
 * Ends processes that rest where all together take too much.
 *
 * @returns why this one is to be ended, before the system does it, which may end all of a container for that
 */
function excessOf(
  hand: Hand,
  hands: readonly Hand[],
  { maxProcessBytes, roomBytes, drop }: Required<Omit<PictureLimits, 'timeoutMs'>> & { readonly drop: (hand: Hand) => void },
): AppError | undefined {
  if (hand.bytes > maxProcessBytes) return new AppError('QUOTA_EXCEEDED', 'the picture needs too much memory');
  const isRoomTaken = () => hands.reduce((sum, { bytes }) => sum + bytes, 0) > roomBytes();
  if (isRoomTaken()) for (const idle of hands.filter(({ job }) => job === undefined)) drop(idle);
  return isRoomTaken() && hands.every(({ bytes }) => bytes <= hand.bytes) ? noRoom() : undefined;
}

/** What is left of the memory of this process's container, or of the machine, beside what it and the rclone that it has started have for themselves. */
function memoryLeft(): number {
  return memoryBytes() * (1 - FREE_PART) - takenBytes();
}

/** Looks at what the process holds, where the system tells. @returns ends the watch */
function watchMemory(child: ChildProcess, onLook: (bytes: number) => void): () => void {
  let isWatched = true;
  const timer = setInterval(() => {
    readFile(`/proc/${child.pid}/statm`, 'latin1').then(
      (text) => {
        if (isWatched) onLook(Number(text.split(' ')[1]) * PAGE_BYTES);
      },
      () => clearInterval(timer),
    );
  }, MEMORY_LOOK_MS);
  return () => {
    isWatched = false;
    clearInterval(timer);
  };
}
