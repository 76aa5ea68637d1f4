import type { IncomingMessage } from 'node:http';
import { finished } from 'node:stream';
import { AppError } from '@wharf/errors';
import { BATCH_BYTES, dropBatch, giveBackBatch, takeBatch } from '../driver-contract/batches.ts';

/**
 * The body of a request in pieces of BATCH_BYTES, or less while memory is short, each only lent until the next one is asked for. While a piece waits to be taken, the client
 * waits too. Who leaves early leaves the connection as it is: an answer goes over it, and the rest may be read away.
 *
 * A socket hands on 64 KiB at a time, each in memory of its own. They are gathered as they come and their memory is freed at once, so that
 * the next has it again: to collect it later costs a tenth of an upload, and so does passing each of them through all that looks at a body.
 *
 * @throws AppError CANCELLED: the client is gone before the end; what came of it comes first
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
    free(chunk);
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
    for (const { batch } of full) dropBatch(batch);
    // Who left early may still be at it.
    if (lent) dropBatch(lent);
  }
}

/** Frees the memory of a chunk that has it for itself. */
function free({ buffer, byteLength }: Buffer): void {
  if (buffer instanceof ArrayBuffer && buffer.byteLength === byteLength) buffer.transfer(0);
}
