import { dropBatch, giveBackBatch, takeBatch } from '../../driver-contract/batches.ts';
import type { Calls } from '../../driver-contract/calls.ts';
import { storageError, throwIfAborted } from '../../driver-contract/storage-error.ts';
import { isRefusal, STATUS } from './errors.ts';
import type { RemoteFile } from './remote-file.ts';

/** What is handed out at once. */
const PIECE_BYTES = 256 * 1024;
/** So much is on its way to a reader that keeps up: 4 MiB in 128 requests, which at 20 ms for an answer are 200 MiB a second. */
const MAX_AHEAD = 16;

interface Piece {
  readonly memory: Buffer;
  readonly bytes: Buffer;
  readonly filled: Promise<void>;
}

/** Of a file, the bytes [start, end). */
export interface Stretch {
  readonly start: number;
  readonly end: number;
}

/**
 * Bytes of an open file, which it owns: the file is closed at the end, on failure, when the loop is left and when the signal aborts. A chunk is only
 * lent until the next one is asked for.
 */
export function readStretch(
  file: RemoteFile,
  stretch: Stretch,
  calls: Calls,
  signal: AbortSignal | undefined,
): AsyncIterator<Uint8Array, undefined> {
  return new FileReader(file, stretch, calls, signal);
}

/** Reads ahead, the more the longer its receiver keeps asking, and hands out in order. */
class FileReader implements AsyncIterator<Uint8Array, undefined> {
  readonly #file: RemoteFile;
  readonly #end: number;
  readonly #calls: Calls;
  readonly #signal: AbortSignal | undefined;
  readonly #onAbort = () => void this.return();
  #position: number;
  readonly #ahead: Piece[] = [];
  #maxAhead = 1;
  #handedOut: Buffer | undefined;
  readonly #free: Buffer[] = [];
  #isClosed = false;

  constructor(file: RemoteFile, { start, end }: Stretch, calls: Calls, signal: AbortSignal | undefined) {
    this.#file = file;
    this.#position = start;
    this.#end = end;
    this.#calls = calls;
    this.#signal = signal;
    signal?.addEventListener('abort', this.#onAbort, { once: true });
    if (signal?.aborted) this.#onAbort();
  }

  async next(): Promise<IteratorResult<Uint8Array, undefined>> {
    throwIfAborted(this.#signal);
    if (this.#isClosed) return { done: true, value: undefined };
    try {
      if (this.#handedOut) this.#free.push(this.#handedOut);
      this.#handedOut = undefined;
      while (this.#ahead.length < this.#maxAhead && this.#position < this.#end) this.#ahead.push(this.#ask());
      const [piece] = this.#ahead;
      if (piece === undefined) return await this.return();
      await this.#calls.run({ signal: this.#signal }, () => piece.filled);
      this.#ahead.shift();
      this.#maxAhead = Math.min(MAX_AHEAD, this.#maxAhead + 1);
      this.#handedOut = piece.memory;
      return { done: false, value: piece.bytes };
    } catch (error) {
      await this.return();
      throw error;
    }
  }

  async return(): Promise<IteratorReturnResult<undefined>> {
    if (!this.#isClosed) {
      this.#isClosed = true;
      this.#signal?.removeEventListener('abort', this.#onAbort);
      this.#free.forEach(giveBackBatch);
      // What was handed out may be on its way to a client, what was asked for may still be written to.
      for (const memory of [...this.#ahead.map((piece) => piece.memory), this.#handedOut]) if (memory) dropBatch(memory);
      this.#file.letGo();
    }
    return { done: true, value: undefined };
  }

  #ask(): Piece {
    const memory = takeBatch(Math.min(PIECE_BYTES, this.#end - this.#position), this.#free.pop());
    const bytes = memory.subarray(0, Math.min(memory.byteLength, PIECE_BYTES, this.#end - this.#position));
    const filled = fill(this.#file, bytes, this.#position);
    // Whoever asks for this piece gets its failure; nobody may ask.
    filled.catch(() => undefined);
    this.#position += bytes.byteLength;
    return { memory, bytes, filled };
  }
}

/** @throws AppError CONTENT_CORRUPT when the file ends before */
async function fill(file: RemoteFile, bytes: Buffer, position: number): Promise<void> {
  const requests: Promise<void>[] = [];
  const { readBytes } = file.session;
  for (let at = 0; at < bytes.byteLength; at += readBytes) {
    requests.push(fillPart(file, bytes, at, Math.min(at + readBytes, bytes.byteLength), position));
  }
  await Promise.all(requests);
}

/** @throws AppError CONTENT_CORRUPT: a file whose size is 0 has content, as files of `/proc` and of some FUSE file systems. It is not read as empty */
export async function requireEmpty(file: RemoteFile): Promise<void> {
  if ((await readPart(file, Buffer.alloc(1), 0, 1, 0)) > 0)
    throw storageError('CONTENT_CORRUPT', new Error('the file has content, and a size of 0'));
}

/** A server may answer with less than was asked for. */
async function fillPart(file: RemoteFile, bytes: Buffer, from: number, to: number, position: number): Promise<void> {
  for (let at = from; at < to; ) {
    const gotBytes = await readPart(file, bytes, at, to, position);
    if (gotBytes <= 0) throw storageError('CONTENT_CORRUPT', new Error('the file has become shorter'));
    at += gotBytes;
  }
}

/** @returns how many bytes came; 0 at the end of the file */
async function readPart({ session, handle }: RemoteFile, bytes: Buffer, at: number, to: number, position: number): Promise<number> {
  return session.read(handle, bytes, at, to - at, position + at).catch((error: unknown) => {
    if (isRefusal(error, STATUS.EOF)) return 0;
    throw error;
  });
}
