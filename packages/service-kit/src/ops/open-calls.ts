import { getHeapStatistics } from 'node:v8';
import { AppError } from '@wharf/errors';
import { collectGarbage, forgetCaches, memoryBytes, ownBytes } from '@wharf/pace';
import type { Logger } from './logger.ts';

/**
 * Calls of one owner that are not over, those included whose callers have gone: some work is waited for by others, too, and does not end with them. Gateways
 * let through 64 of a user each.
 */
const MOST_CALLS = 1_000;
/** While calls are under way, how often to look, in milliseconds. They fill some megabytes of heap in that time. */
const LOOK_MS = 20;
/**
 * Of the heap that Node may have no more than this share, from 0 to 1, is to be in use and no garbage. The young part of the heap counts in what Node may have
 * and is never full; it is small (6 MiB) with the flags that Wharf is started with.
 */
const MOST_HEAP = 0.72;
/** The same of the memory of the container, or the machine, where all threads and what is no heap count, too, and the kernel ends the process. */
const MOST_MEMORY = 0.85;
/**
 * With so much strain three quarters end: V8 ends the process when four collections in a row leave 80% of the heap in use (CheckIneffectiveMarkCompact of its
 * heap.cc).
 */
const MUCH = 0.25;
/** With so much nobody keeps a last call. */
const TOO_MUCH = 0.5;
/** With less than that, collecting takes this share of the time at most, and only then; V8 collects by itself, too. */
const COLLECTING = 0.1;
/** Calls that were ended give back what they held in this time, in milliseconds, or never. */
const ENDING_MS = 2_000;
/** For so long after calls were ended, who has some begins no more, in milliseconds. */
const REFUSED_MS = 5_000;

/** How often what is remembered is forgotten at most, in milliseconds: without it, everything is read again and again. */
const FORGET_MS = 5_000;

/** What is known of the memory of a process. */
export interface MemoryWatch {
  /** How far the process is beyond what is to be in use, up to 1 for all that it may have; below 0 where it is not. Garbage counts. */
  readonly strain: () => number;
  /** The same of the heap alone, which tells of what was given back; the system does not: what is free beside the heap stays with the process. */
  readonly heapStrain: () => number;
  /** Has only what is no garbage left in use. */
  readonly collect: () => void;
  /** Leaves what can be read or made again to be collected. @returns whether there was some */
  readonly forget: () => boolean;
}

/** Calls that are under way in this process. */
export interface OpenCalls {
  /**
   * Notes a call until the function it answers is called.
   *
   * @param owner for whom the call is answered
   * @param end ends the call, whose caller is told this error
   * @throws AppError OVERLOADED: this owner has too many under way, or some where calls had to be ended just now
   */
  begin(owner: string, end: (error: AppError) => void): () => void;
  /** Whether calls had to be ended just now. */
  isShort(): boolean;
}

/** Where no call ends early. */
export const NONE_ENDS: OpenCalls = { begin: () => () => undefined, isShort: () => false };

interface OpenCall {
  readonly end: (error: AppError) => void;
}

/**
 * The last resort of a process whose memory is nearly used up, by whatever was not bounded well enough. What is remembered is forgotten; where that is not
 * enough, of the owner who has most calls the newer half end, and again until it is, so that the process does not end; for some seconds who has calls under
 * way begins no more.
 */
export function createOpenCalls(logger: Pick<Logger, 'warn'>, memory: MemoryWatch = ofThisProcess()): OpenCalls {
  const callsOf = new Map<string, Set<OpenCall>>();
  /** Calls that were ended and are not over. */
  const ending = new Set<OpenCall>();
  /** The strain that the last collection left, and until when there is no other one without much strain, in milliseconds. */
  let [left, restsUntil] = [-1, 0];
  /** When calls were ended last, in milliseconds, and whether that is still to be looked at. */
  let [endedAt, hasEnded] = [Number.NEGATIVE_INFINITY, false];
  /** When what is remembered was forgotten last, in milliseconds. */
  let forgotAt = Number.NEGATIVE_INFINITY;
  let isStrained = false;
  let timer: NodeJS.Timeout | undefined;
  const look = () => {
    if (callsOf.size === 0) {
      clearInterval(timer);
      timer = undefined;
    }
    const [strain, now] = [memory.strain(), performance.now()];
    isStrained = strain > 0;
    // Where it fell by itself.
    left = Math.min(left, strain);
    const isEnded = hasEnded && (ending.size === 0 || now - endedAt > ENDING_MS);
    // V8 collects later, when it may be too late.
    const isDue = strain > left + (1 - left) / 3 && (strain > TOO_MUCH || now >= restsUntil);
    if (!isStrained || !(isEnded || isDue)) return;
    memory.collect();
    if (memory.strain() > 0 && now - forgotAt > FORGET_MS && memory.forget()) {
      forgotAt = now;
      memory.collect();
    }
    left = memory.strain();
    restsUntil = performance.now() + (performance.now() - now) / COLLECTING;
    ending.clear();
    hasEnded = (isDue ? left : memory.heapStrain()) > 0 && endSome();
    if (hasEnded) endedAt = performance.now();
  };
  /** @returns whether there was one to end */
  const endSome = (): boolean => {
    let [owner, most] = ['', new Set<OpenCall>()];
    for (const [other, calls] of callsOf) if (calls.size > most.size) [owner, most] = [other, calls];
    const kept = left > TOO_MUCH ? Math.floor(most.size / 4) : Math.ceil(most.size / (left > MUCH ? 4 : 2));
    const newest = [...most].slice(kept);
    for (const call of newest) {
      remove(owner, call);
      ending.add(call);
      call.end(refusal());
    }
    if (newest.length > 0) logger.warn({ owner, calls: newest.length }, 'memory is nearly used up: calls were ended');
    return newest.length > 0;
  };
  const remove = (owner: string, call: OpenCall) => {
    const calls = callsOf.get(owner);
    calls?.delete(call);
    if (calls?.size === 0) callsOf.delete(owner);
  };
  const isShort = () => isStrained && performance.now() - endedAt < REFUSED_MS;
  return {
    isShort,
    begin(owner, end) {
      const calls = callsOf.get(owner) ?? new Set();
      if (calls.size >= (isShort() ? 1 : MOST_CALLS)) throw refusal();
      const call = { end };
      callsOf.set(owner, calls.add(call));
      timer ??= setInterval(look, LOOK_MS).unref();
      return () => {
        remove(owner, call);
        ending.delete(call);
      };
    },
  };
}

const refusal = () => new AppError('OVERLOADED', 'too much is being answered at once: try again in a moment');

function ofThisProcess(): MemoryWatch {
  const ofProcess = memoryBytes();
  const beyond = (share: number, most: number) => (share - most) / (1 - most);
  const heapStrain = () => {
    const { used_heap_size, heap_size_limit } = getHeapStatistics();
    return beyond(used_heap_size / heap_size_limit, MOST_HEAP);
  };
  const strain = () => Math.max(heapStrain(), beyond(ownBytes() / ofProcess, MOST_MEMORY));
  return {
    strain,
    heapStrain,
    forget: forgetCaches,
    collect() {
      collectGarbage('regular');
      // A last resort is several collections, of which V8 counts each.
      if (strain() > 0 && heapStrain() < 0) collectGarbage('last-resort');
    },
  };
}
