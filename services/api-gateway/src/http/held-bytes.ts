import type { ServerResponse } from 'node:http';
import { getHeapStatistics } from 'node:v8';
import { AppError } from '@wharf/errors';
import { memoryBytes } from '@wharf/pace';
import { ROLE } from '@wharf/rights';
import { type Caller, plainAddress } from '@wharf/service-kit';

/** The bytes that all requests of the process may hold together, where it has much memory: bodies that still come and answers that are still sent. */
const MAX_BYTES = 256 * 1024 * 1024;
/** Else a fraction of the heap that Node may use, */
const HEAP_SHARES = 2;
/** and of the memory of the process: these bytes lie beside the heap, with what transfers and connections hold. */
const MEMORY_SHARES = 8;
/** What is made of bodies may take so much of the heap, as a fraction: it lies there, unlike the bytes that come and go. */
const MADE_HEAP_SHARES = 3;
/** What is made of one body with as many values as there may be. One user always may have it. */
const ONE_MADE_BYTES = 45 * 1024 * 1024;
/** The share of one caller, as a fraction of that. All strangers are one caller, guests too. */
const SHARES = 2;
/** The share of one address without a login, as a fraction of all. */
const ADDRESS_SHARES = 4;
/** Bytes of a request up to this number are not counted. Most requests hold less, and go on when all counted room is taken. */
const UNCOUNTED_BYTES = 64 * 1024;

/**
 * Called with the number of bytes that a request holds now. @throws AppError OVERLOADED: there is no room for so many | CANCELLED: the
 * client is gone
 */
export type Hold = (bytes: number) => void;

/** Bounds the memory that is held for clients that send or take slowly, or not at all. */
export interface HeldBytes {
  /** Counts what one request holds, until its answer is over. @param caller undefined: the request needs nobody */
  of(response: ServerResponse, caller: Caller | undefined, address: string): Hold;
}

/** For what is made of bodies. @param maxBytes for all together */
export function createMadeBytes(maxBytes = madeBytes(getHeapStatistics().heap_size_limit), isShort?: () => boolean): HeldBytes {
  return createHeldBytes(maxBytes, isShort, maxBytes < ONE_MADE_BYTES ? 0 : ONE_MADE_BYTES);
}

/** What is made of all bodies may take so much together, by the heap that Node may use. @internal exported for its test */
export function madeBytes(heapBytes: number): number {
  return Math.max(ONE_MADE_BYTES, heapBytes / MADE_HEAP_SHARES);
}

/** The same of what is held for clients, by the memory of the process too. @internal exported for its test */
export function heldBytes(heapBytes: number, ofProcess: number): number {
  return Math.min(MAX_BYTES, heapBytes / HEAP_SHARES, ofProcess / MEMORY_SHARES);
}

/** @param isShort tells whether memory is nearly used up: nobody holds more then. @param oneBytes one user always may have so much of `maxBytes` */
export function createHeldBytes(
  maxBytes = heldBytes(getHeapStatistics().heap_size_limit, memoryBytes()),
  isShort: () => boolean = () => false,
  oneBytes = 0,
): HeldBytes {
  const bytesOf = new Map<string, number>();
  const heldBy = (key: string) => bytesOf.get(key) ?? 0;
  const count = (key: string, bytes: number) => {
    const held = heldBy(key) + bytes;
    if (held > 0) bytesOf.set(key, held);
    else bytesOf.delete(key);
  };
  return {
    of(response, caller, address) {
      let counted = 0;
      return (bytes) => {
        const more = bytes - UNCOUNTED_BYTES - counted;
        if (more <= 0) return;
        if (response.destroyed) throw new AppError('CANCELLED', 'the client went away');
        const bounds = boundsOf(caller, address, maxBytes, oneBytes);
        if (isShort() || bounds.some(([key, most]) => heldBy(key) + more > most))
          throw new AppError('OVERLOADED', 'too much is being sent and taken at once: try again in a moment');
        if (counted === 0)
          response.once('close', () => {
            for (const [key] of bounds) count(key, -counted);
          });
        counted += more;
        for (const [key] of bounds) count(key, more);
      };
    },
  };
}

function boundsOf(caller: Caller | undefined, address: string, maxBytes: number, oneBytes: number): [key: string, most: number][] {
  const all: [string, number] = ['all', maxBytes];
  if (caller && caller.identity.role !== ROLE.guest) return [all, [`user ${caller.identity.id}`, Math.max(oneBytes, maxBytes / SHARES)]];
  return [all, ['strangers', maxBytes / SHARES], [`address ${plainAddress(address)}`, maxBytes / ADDRESS_SHARES]];
}
