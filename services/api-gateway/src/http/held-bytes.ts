import type { ServerResponse } from 'node:http';
import { AppError } from '@wharf/errors';

/** The bytes that all requests of the process may hold together: bodies that still come and answers that are still sent. */
const MAX_BYTES = 256 * 1024 * 1024;
/** The share of one caller, as a fraction of that. All requests without a login are one caller. */
const SHARES = 2;
/** Bytes of a request up to this number are not counted. Most requests hold less, and go on when all counted room is taken. */
const UNCOUNTED_BYTES = 64 * 1024;

/**
 * Called with the number of bytes that a request holds now. @throws AppError OVERLOADED: there is no room for so many | CANCELLED: the
 * client is gone
 */
export type Hold = (bytes: number) => void;

/** Bounds the memory that is held for clients that send or take slowly, or not at all. */
export interface HeldBytes {
  /** Counts what one request holds, until its answer is over. @param caller the id of its user; undefined without a login */
  of(response: ServerResponse, caller: number | undefined): Hold;
}

export function createHeldBytes(maxBytes = MAX_BYTES): HeldBytes {
  let allBytes = 0;
  const bytesOf = new Map<number | undefined, number>();
  const count = (caller: number | undefined, bytes: number) => {
    const own = (bytesOf.get(caller) ?? 0) + bytes;
    allBytes += bytes;
    if (own > 0) bytesOf.set(caller, own);
    else bytesOf.delete(caller);
  };
  return {
    of(response, caller) {
      let counted = 0;
      return (bytes) => {
        const more = bytes - UNCOUNTED_BYTES - counted;
        if (more <= 0) return;
        if (response.destroyed) throw new AppError('CANCELLED', 'the client went away');
        if (allBytes + more > maxBytes || (bytesOf.get(caller) ?? 0) + more > maxBytes / SHARES)
          throw new AppError('OVERLOADED', 'too much is being sent and taken at once: try again in a moment');
        if (counted === 0) response.once('close', () => count(caller, -counted));
        counted += more;
        count(caller, more);
      };
    },
  };
}
