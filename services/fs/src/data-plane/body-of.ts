import type { IncomingMessage } from 'node:http';
import { finished } from 'node:stream';
import { AppError } from '@wharf/errors';

/** While so much waits to be taken, the client waits too, in bytes. */
const MAX_WAITING_BYTES = 512 * 1024;

/**
 * The body of a request. Who leaves early leaves the connection as it is: an answer goes over it, and the rest may be read away.
 *
 * The request's own iterator stops and starts the socket at each chunk, which costs a fifth of an upload.
 *
 * @throws AppError CANCELLED: the client is gone before the end
 */
export async function* bodyOf(request: IncomingMessage): AsyncGenerator<Uint8Array, void> {
  let waiting: Uint8Array[] = [];
  let waitingBytes = 0;
  let end: { error?: Error | null | undefined } | undefined;
  let wake = () => {};
  const onData = (chunk: Uint8Array) => {
    waiting.push(chunk);
    waitingBytes += chunk.byteLength;
    if (waitingBytes >= MAX_WAITING_BYTES) request.pause();
    wake();
  };
  const stopWatching = finished(request, { writable: false }, (error) => {
    end = { error };
    wake();
  });
  request.on('data', onData);
  try {
    for (;;) {
      const chunks = waiting;
      waiting = [];
      waitingBytes = 0;
      if (chunks.length > 0) {
        request.resume();
        yield* chunks;
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
  }
}
