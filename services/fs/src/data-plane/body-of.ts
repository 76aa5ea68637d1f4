import type { IncomingMessage } from 'node:http';
import { finished } from 'node:stream';
import { AppError } from '@wharf/errors';
import { freeChunk } from '@wharf/pace';
import { BATCH_BYTES, dropBatch, giveBackBatch, takeBatch } from '../driver-contract/batches.ts';

/**
 * The body of a request in pieces of BATCH_BYTES, or of less while memory is short. A piece is only lent: it is valid until the next one is
 * asked for. While a piece waits to be taken, the client waits too. Leaving early does not close the connection: the answer still goes over
 * it, and the rest of the body may be read and dropped.
 *
 * A socket hands on chunks of 64 KiB, each in memory of its own. Each chunk is copied into a piece as it comes, and its memory is freed at
 * once for the next chunk. Leaving that memory to the garbage collector costs a tenth of an upload. Passing single chunks on to the readers
 * of a body costs another tenth.
 *
 * @throws AppError CANCELLED: the client is gone before the end; the bytes that came are handed out first
 */
export async function* bodyOf(request: IncomingMessage): AsyncGenerator<Uint8Array, void> {
  const full: { batch: Buffer; filledBytes: number }[] = [];
  let filling: { batch: Buffer; filledBytes: number } | undefined;
  // A small body gets no more memory than it says it needs.
  const neededBytes = Number(request.headers['content-length']) || BATCH_BYTES;
  let end: { error?: Error | null | undefined } | undefined;
  let lent: Buffer | undefined;
  let wake = () => {};
  const handOn = () => {
    if (filling) full.push(filling);
    filling = undefined;
  };
  const onData = (chunk: Buffer) => {
    for (let from = 0; from < chunk.byteLength; ) {
      filling ??= { batch: takeBatch(neededBytes), filledBytes: 0 };
      const copiedBytes = chunk.copy(filling.batch, filling.filledBytes, from);
      from += copiedBytes;
      filling.filledBytes += copiedBytes;
      if (filling.filledBytes === filling.batch.byteLength) handOn();
    }
    freeChunk(chunk);
    if (full.length === 0) return;
    request.pause();
    wake();
  };
  const stopWatching = finished(request, { writable: false }, (error) => {
    handOn();
    end = { error };
    wake();
  });
  request.on('data', onData);
  try {
    for (;;) {
      const next = full.shift();
      if (next !== undefined) {
        request.resume();
        lent = next.batch;
        yield lent.subarray(0, next.filledBytes);
        giveBackBatch(lent);
        lent = undefined;
      } else if (end === undefined) {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      } else if (end.error) throw new AppError('CANCELLED', 'the upload was cancelled', { cause: end.error });
      else return;
    }
  } finally {
    stopWatching();
    request.off('data', onData).pause();
    handOn();
    for (const { batch } of full) giveBackBatch(batch);
    // A reader that left early may still use the piece.
    if (lent) dropBatch(lent);
  }
}
