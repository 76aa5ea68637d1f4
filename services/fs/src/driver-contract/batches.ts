import { memoryBytes } from '@wharf/pace';

/** What goes to a storage at once where small pieces come, as from a socket. Half of it costs an upload 15 % more CPU time. */
export const BATCH_BYTES = 1024 * 1024;
/**
 * Batches that are kept for the next who needs one, because memory the machine has not touched before costs more than what is done with it.
 * The collector may take them: at rest nobody holds any.
 */
const MAX_SPARE = 8;
/** Where there is no memory for more: a transfer goes on in pieces of that size, of which it holds two. */
const SMALL_BYTES = 64 * 1024;
/** What all transfers of the process may have in pieces that are bigger than that, where it has much memory: whoever takes nothing holds them for minutes. */
const MAX_BIG_PIECES_BYTES = 128 * 1024 * 1024;
/** Else a fraction of its memory. */
const MEMORY_SHARES = 8;
/** @internal for its test */
export const BIG_PIECES_BYTES = bigPiecesBytes(memoryBytes());

let bigBytes = 0;
const spare: WeakRef<Buffer>[] = [];

/**
 * How far into its page content begins. Files in memory begin with a page, and what the C library takes from the system for one large block
 * begins 16 bytes behind that: AMD processors copy to a place up to 16 bytes further into its page at a sixth of their speed (Zen 3, `rep movsb`).
 */
const INTO_PAGE_BYTES = 48;

/** What pieces may have of a process with so much memory: whole batches. @internal for its test */
export function bigPiecesBytes(ofProcess: number): number {
  return Math.min(MAX_BIG_PIECES_BYTES, Math.floor(ofProcess / MEMORY_SHARES / BATCH_BYTES) * BATCH_BYTES);
}

/**
 * Room among these for a transfer that makes pieces of its own, as one that is encrypted does.
 *
 * @returns gives it back, once; undefined while others have all there is: the transfer goes on in pieces of 64 KiB, one at a time
 */
export function takeBatchRoom(): (() => void) | undefined {
  if (bigBytes + BATCH_BYTES > BIG_PIECES_BYTES) return undefined;
  bigBytes += BATCH_BYTES;
  return () => {
    bigBytes -= BATCH_BYTES;
  };
}

/** Memory with anything in it, placed so that files are read into it fast. */
function contentMemory(sizeBytes: number): Buffer {
  return Buffer.allocUnsafeSlow(INTO_PAGE_BYTES + sizeBytes).subarray(INTO_PAGE_BYTES);
}

/**
 * Memory with anything in it, to be given back or dropped.
 *
 * @param neededBytes all that is wanted where that is less than a batch; from BATCH_BYTES on it is that many
 * @param kept what the caller has from before: answered where it is enough or no more is to be had, else given back
 * @returns what was wanted, or less while others have all there is
 */
export function takeBatch(neededBytes = BATCH_BYTES, kept?: Buffer): Buffer {
  const wantedBytes = Math.min(neededBytes, BATCH_BYTES);
  if (kept !== undefined && kept.byteLength >= wantedBytes) return kept;
  if (wantedBytes <= SMALL_BYTES) return contentMemory(wantedBytes);
  if (bigBytes + wantedBytes > BIG_PIECES_BYTES) return kept ?? contentMemory(SMALL_BYTES);
  if (kept !== undefined) dropBatch(kept);
  bigBytes += wantedBytes;
  if (wantedBytes < BATCH_BYTES) return contentMemory(wantedBytes);
  for (let last = spare.pop(); last !== undefined; last = spare.pop()) {
    const batch = last.deref();
    if (batch !== undefined) return batch;
  }
  return contentMemory(BATCH_BYTES);
}

/**
 * For memory that nobody looks at any more. What is not kept for the next who needs one is freed at once: to V8 it is a few bytes, so that up to 64 MiB of
 * it gather before the collector looks.
 *
 * @param batch as it was taken
 */
export function giveBackBatch(batch: Buffer): void {
  dropBatch(batch);
  if (batch.byteLength === BATCH_BYTES && spare.length < MAX_SPARE) spare.push(new WeakRef(batch));
  else if (batch.byteLength > SMALL_BYTES) freeMemory(batch);
}

/** Frees memory that nobody looks at any more. @param bytes which have it for themselves */
export function freeMemory({ buffer }: Buffer): void {
  if (buffer instanceof ArrayBuffer) buffer.transfer(0);
}

/** The same of what a socket handed on, where it has memory of its own: up to 64 MiB of it would gather. */
export function freeWhole({ buffer, byteLength }: Uint8Array): void {
  if (buffer instanceof ArrayBuffer && buffer.byteLength === byteLength) buffer.transfer(0);
}

/** For memory that somebody may still look at: it is not used again. @param batch as it was taken */
export function dropBatch(batch: Buffer): void {
  if (batch.byteLength > SMALL_BYTES) bigBytes -= batch.byteLength;
}
