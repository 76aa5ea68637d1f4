import type { Socket } from 'node:net';
import { AppError } from '@wharf/errors';
import type { Calls } from '../../driver-contract/calls.ts';
import { abortError, storageError, throwIfAborted } from '../../driver-contract/storage-error.ts';
import type { Transfer } from './client.ts';
import type { Lease } from './session-pool.ts';

export interface Download {
  readonly transfer: Transfer;
  readonly lease: Lease;
  /** How many bytes are wanted, and whether the file ends with them. */
  readonly lengthBytes: number;
  readonly isToEnd: boolean;
}

/**
 * Bytes of a file as they come, with the session they come over, which it gives back: at the end, on failure, when the loop is left and when the
 * signal aborts.
 */
export class FtpReader implements AsyncIterator<Uint8Array, undefined> {
  readonly #download: Download;
  readonly #socket: Socket;
  readonly #chunks: AsyncIterator<Buffer>;
  readonly #calls: Calls;
  readonly #signal: AbortSignal | undefined;
  readonly #onAbort = () => void this.return();
  #leftBytes: number;
  #isClosed = false;

  constructor(download: Download, calls: Calls, signal: AbortSignal | undefined) {
    this.#download = download;
    this.#socket = download.transfer.socket;
    this.#chunks = this.#socket[Symbol.asyncIterator]();
    this.#leftBytes = download.lengthBytes;
    this.#calls = calls;
    this.#signal = signal;
    signal?.addEventListener('abort', this.#onAbort, { once: true });
    if (signal?.aborted) this.#onAbort();
  }

  async next(): Promise<IteratorResult<Uint8Array, undefined>> {
    throwIfAborted(this.#signal);
    if (this.#isClosed) return { done: true, value: undefined };
    try {
      if (this.#leftBytes === 0 && !this.#download.isToEnd) return await this.return();
      const step = await this.#chunks.next();
      throwIfAborted(this.#signal);
      if (step.done === true) return await this.#end();
      return { done: false, value: this.#wanted(step.value) };
    } catch (error) {
      await this.return();
      if (this.#signal?.aborted) throw abortError(this.#signal);
      throw AppError.is(error) ? error : storageError('STORAGE_UNAVAILABLE', error);
    }
  }

  async return(): Promise<IteratorReturnResult<undefined>> {
    if (!this.#isClosed) {
      this.#isClosed = true;
      this.#signal?.removeEventListener('abort', this.#onAbort);
      this.#socket.destroy();
      this.#download.lease.release();
    }
    return { done: true, value: undefined };
  }

  #wanted(chunk: Buffer): Buffer {
    const wanted = chunk.subarray(0, this.#leftBytes);
    if (wanted.byteLength < chunk.byteLength && this.#download.isToEnd) {
      throw storageError('CONTENT_CORRUPT', new Error('the file is longer than the server said'));
    }
    this.#leftBytes -= wanted.byteLength;
    return wanted;
  }

  /** The end of the connection is the end of the file only if the server says so too, and all has come. */
  async #end(): Promise<IteratorReturnResult<undefined>> {
    await this.#calls.run({ signal: this.#signal }, () => this.#download.transfer.finish());
    if (this.#leftBytes > 0) throw storageError('STORAGE_UNAVAILABLE', new Error('the file is shorter than the server said'));
    return this.return();
  }
}
