/** What goes to a storage at once where small pieces come, as from a socket. Half of it costs an upload 15 % more CPU time. */
export const BATCH_BYTES = 1024 * 1024;
/**
 * Batches that are kept for the next who needs one, because memory the machine has not touched before costs more than what is done with it.
 * The collector may take them: at rest nobody holds any.
 */
const MAX_SPARE = 8;
const spare: WeakRef<Buffer>[] = [];

/**
 * How far into its page content begins. Files in memory begin with a page, and what the C library takes from the system for one large block
 * begins 16 bytes behind that: AMD processors copy to a place up to 16 bytes further into its page at a sixth of their speed (Zen 3, `rep movsb`).
 */
const INTO_PAGE_BYTES = 48;

/** Memory with anything in it, placed so that files are read into it fast. */
function contentMemory(sizeBytes: number): Buffer {
  return Buffer.allocUnsafeSlow(INTO_PAGE_BYTES + sizeBytes).subarray(INTO_PAGE_BYTES);
}

/**
 * Memory with anything in it. Whoever takes it gives it back when nobody looks at it any more, or drops it.
 *
 * @param neededBytes all that is wanted where that is less than a batch; from BATCH_BYTES on it is that many
 */
export function takeBatch(neededBytes = BATCH_BYTES): Buffer {
  if (neededBytes < BATCH_BYTES) return contentMemory(neededBytes);
  for (let kept = spare.pop(); kept !== undefined; kept = spare.pop()) {
    const batch = kept.deref();
    if (batch !== undefined) return batch;
  }
  return contentMemory(BATCH_BYTES);
}

/** @param batch as it was taken, or smaller memory, which is dropped */
export function giveBackBatch(batch: Buffer): void {
  if (batch.byteLength === BATCH_BYTES && spare.length < MAX_SPARE) spare.push(new WeakRef(batch));
}
