import type { Socket } from 'node:net';
import { AppError } from '@wharf/errors';
import { storageError, throwIfAborted } from '../../driver-contract/storage-error.ts';
import type { FtpSession, Transfer } from './client.ts';
import { isRefusal } from './errors.ts';
import type { RemoteEntry } from './listing.ts';
import { lookAtFile, sizeOf } from './look.ts';
import type { FtpSettings } from './settings.ts';

/** The server did not take it. The source is ended, and what it throws stays its own. */
class BrokenTransfer extends Error {}

/**
 * Sends content to a file of the server.
 *
 * @returns how many bytes. @throws what `content` throws; RefusedReply; AppError STORAGE_UNAVAILABLE | CANCELLED
 */
export async function sendContent({ socket, finish }: Transfer, content: AsyncIterable<Uint8Array>, signal: AbortSignal): Promise<number> {
  const onAbort = () => socket.destroy(storageError('CANCELLED'));
  signal.addEventListener('abort', onAbort, { once: true });
  let sentBytes = 0;
  try {
    if (signal.aborted) onAbort();
    // Nothing comes back on it but its end.
    socket.resume();
    for await (const piece of content) {
      await write(socket, piece);
      sentBytes += piece.byteLength;
    }
    throwIfAborted(signal);
    await end(socket);
    await finish();
    return sentBytes;
  } catch (error) {
    socket.destroy();
    throwIfAborted(signal);
    if (!(error instanceof BrokenTransfer)) throw error;
    // The server may say why, such as that its disk is full.
    throw await finish().then(
      () => storageError('STORAGE_UNAVAILABLE', error),
      (reason: unknown) => (isRefusal(reason) || AppError.is(reason) ? reason : error),
    );
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

/**
 * Sees that a file which was sent is there whole.
 *
 * @returns what the server says of it; undefined where it is to be asked by its name. @throws AppError STORAGE_UNAVAILABLE
 */
export async function checkStored(
  session: FtpSession,
  settings: FtpSettings,
  place: string,
  sentBytes: number,
): Promise<RemoteEntry | undefined> {
  const stored = await lookAtFile(session, settings, place);
  if (stored?.sizeBytes === sentBytes) return stored;
  const keptBytes = (await sizeOf(session, place)) ?? stored?.sizeBytes;
  if (keptBytes !== undefined && keptBytes !== sentBytes) throw storageError('STORAGE_UNAVAILABLE', new Error('the transfer was cut off'));
  return undefined;
}

/** A piece is only lent: ends when it has left the process. */
function write(socket: Socket, piece: Uint8Array): Promise<void> {
  return untilClosed(socket, (done) => socket.write(piece, done));
}

function end(socket: Socket): Promise<void> {
  return untilClosed(socket, (done) => socket.end(done));
}

function untilClosed(socket: Socket, run: (done: (error?: Error | null) => void) => void): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const onClose = () => reject(new BrokenTransfer('the connection for data is closed', { cause: socket.errored }));
  if (socket.destroyed) onClose();
  socket.once('close', onClose);
  run((error) => (error ? onClose() : resolve()));
  return promise.finally(() => socket.off('close', onClose));
}
