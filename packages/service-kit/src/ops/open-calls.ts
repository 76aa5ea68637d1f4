import { getHeapStatistics } from 'node:v8';
import { AppError } from '@wharf/errors';
import { createGarbageCollector } from './collect-garbage.ts';
import type { Logger } from './logger.ts';

/** While calls are under way, how often to look, in milliseconds. They fill some megabytes of heap in that time. */
const LOOK_MS = 20;
/**
 * The share of the heap that Node may have, from 0 to 1, from which on all of it is collected, as V8 does soon after. The young part of the heap counts in
 * what Node may have and is never full; it is small (6 MiB) with the flags that Wharf is started with.
 */
const COLLECTED_FROM = 0.85;
/** What is left in use above this share, from 0 to 1, is too much. */
const ENOUGH = 0.75;

/** What is known of the heap. */
export interface HeapWatch {
  /** The share in use, garbage too, from 0 to 1. */
  readonly used: () => number;
  /** Has only what is no garbage left in use. */
  readonly collect: () => void;
}

/** Calls that are under way in this process. */
export interface OpenCalls {
  /**
   * Notes a call until the function it answers is called.
   *
   * @param owner for whom the call is answered
   * @param end ends the call with this error, which is for its caller
   * @throws AppError OVERLOADED: the heap is nearly used up, and this owner has calls under way
   */
  begin(owner: string, end: (error: AppError) => void): () => void;
}

/** Where no call ends early. */
export const NONE_ENDS: OpenCalls = { begin: () => () => undefined };

interface OpenCall {
  readonly end: (error: AppError) => void;
}

/**
 * The last resort of a process whose heap is nearly used up, by whatever was not bounded well enough. The newer half of the calls of the owner who has
 * most of them end, and again until that is enough, so that the process does not end; until then, who has calls under way begins no more.
 */
export function createOpenCalls(logger: Pick<Logger, 'warn'>, heap: HeapWatch = ofThisProcess()): OpenCalls {
  const callsOf = new Map<string, Set<OpenCall>>();
  /** Calls that were ended and are not over. */
  const ending = new Set<OpenCall>();
  /** The share that the last collection left in use. */
  let left = 0;
  let isShort = false;
  let hasEnded = false;
  let timer: NodeJS.Timeout | undefined;
  const look = () => {
    if (callsOf.size === 0) {
      clearInterval(timer);
      timer = undefined;
    }
    const used = heap.used();
    if (used <= ENOUGH) {
      isShort = false;
      left = 0;
    } else if (used > Math.max(COLLECTED_FROM, (1 + left) / 2) || (hasEnded && ending.size === 0)) {
      heap.collect();
      left = heap.used();
      isShort = left > ENOUGH;
      hasEnded = isShort && endSome();
    }
  };
  /** @returns whether there was one to end */
  const endSome = (): boolean => {
    let [owner, most] = ['', new Set<OpenCall>()];
    for (const [other, calls] of callsOf) if (calls.size > most.size) [owner, most] = [other, calls];
    const newest = [...most].slice(Math.floor(most.size / 2));
    for (const call of newest) {
      remove(owner, call);
      ending.add(call);
      call.end(refusal());
    }
    if (newest.length > 0) logger.warn({ owner, calls: newest.length }, 'the heap is nearly used up: calls were ended');
    return newest.length > 0;
  };
  const remove = (owner: string, call: OpenCall) => {
    const calls = callsOf.get(owner);
    calls?.delete(call);
    if (calls?.size === 0) callsOf.delete(owner);
  };
  return {
    begin(owner, end) {
      const calls = callsOf.get(owner) ?? new Set();
      if (isShort && calls.size > 0) throw refusal();
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

function ofThisProcess(): HeapWatch {
  const collect = createGarbageCollector();
  return {
    used() {
      const { used_heap_size, heap_size_limit } = getHeapStatistics();
      return used_heap_size / heap_size_limit;
    },
    collect: () => collect('regular'),
  };
}
