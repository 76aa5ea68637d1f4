import fs from 'node:fs';
import type { Gate } from '@wharf/pace';
import { dropBatch, giveBackBatch, takeBatch } from '../../driver-contract/batches.ts';
import type { CallOptions, Entry, FileContent } from '../../driver-contract/storage-driver.ts';
import { abortError, storageError, throwIfAborted } from '../../driver-contract/storage-error.ts';
import { toAppError } from './errors.ts';

/**
 * The bytes [start, end) of an open file. Owns the handle: it is closed at the end, on failure, when the loop is left and when the signal
 * aborts. One chunk is read ahead while the receiver works on the one before.
 */
export function fileContent(entry: Entry, fd: number, start: number, end: number, slots: Gate, options: CallOptions): FileContent {
  const reader = new FileReader(fd, start, end, slots, options);
  return { entry, [Symbol.asyncIterator]: () => reader };
}

/** Content that is here already. @param bytes others may have them too */
export function inlineContent(entry: Entry, bytes: Uint8Array): FileContent {
  return {
    entry,
    whole: bytes,
    async *[Symbol.asyncIterator]() {
      if (bytes.byteLength > 0) yield bytes;
    },
  };
}

interface Chunk {
  readonly memory: Buffer;
  /** What of it was read. */
  readonly bytes: Uint8Array;
}

class FileReader implements AsyncIterator<Uint8Array, undefined> {
  readonly #fd: number;
  readonly #end: number;
  readonly #slots: Gate;
  readonly #signal: AbortSignal | undefined;
  #position: number;
  /** All memory that it has. */
  readonly #held = new Set<Buffer>();
  /** Handed out last: free again when the next one is asked for. */
  #handedOut: Buffer | undefined;
  #free: Buffer | undefined;
  #ahead: Promise<Chunk> | undefined;
  #reading: Promise<Chunk> | undefined;
  #isClosing = false;
  #onAbort = () => void this.return();

  constructor(fd: number, start: number, end: number, slots: Gate, { signal }: CallOptions) {
    this.#fd = fd;
    this.#position = start;
    this.#end = end;
    this.#slots = slots;
    this.#signal = signal;
    signal?.addEventListener('abort', this.#onAbort, { once: true });
    // The client may have gone while the file was opened.
    if (signal?.aborted) this.#onAbort();
  }

  async next(): Promise<IteratorResult<Uint8Array, undefined>> {
    try {
      throwIfAborted(this.#signal);
      if (this.#isClosing) return { done: true, value: undefined };
      this.#takeBack();
      const pending = this.#ahead ?? this.#readNext();
      this.#ahead = undefined;
      if (pending === undefined) return await this.return();
      const { memory, bytes } = await this.#orAborted(pending);
      if (bytes.byteLength === 0) throw storageError('CONTENT_CORRUPT', 'the file has become shorter');
      this.#handedOut = memory;
      this.#ahead = this.#readNext();
      return { done: false, value: bytes };
    } catch (error) {
      await this.return();
      throw toAppError(error);
    }
  }

  /** Closes the handle once the system has let go of it. */
  async return(): Promise<IteratorReturnResult<undefined>> {
    if (!this.#isClosing) {
      this.#isClosing = true;
      this.#signal?.removeEventListener('abort', this.#onAbort);
      this.#giveBack(this.#free);
      // What was handed out may be on its way to a client, what is being read is still written to.
      for (const memory of this.#held) dropBatch(memory);
      const close = () => fs.close(this.#fd, () => undefined);
      if (this.#reading === undefined) close();
      else this.#reading.then(close, close);
    }
    return { done: true, value: undefined };
  }

  /** Whoever asks for the next chunk is done with the last. */
  #takeBack(): void {
    if (this.#handedOut === undefined) return;
    this.#giveBack(this.#free);
    this.#free = this.#handedOut;
    this.#handedOut = undefined;
  }

  #giveBack(memory: Buffer | undefined): void {
    if (memory !== undefined && this.#held.delete(memory)) giveBackBatch(memory);
  }

  #readNext(): Promise<Chunk> | undefined {
    const missingBytes = this.#end - this.#position;
    if (missingBytes <= 0 || this.#isClosing) return undefined;
    // Below a batch the calls cost more than the bytes, above nothing is gained: README has the figures.
    const memory = takeBatch(missingBytes, this.#free);
    if (this.#free !== undefined) this.#held.delete(this.#free);
    this.#free = undefined;
    this.#held.add(memory);
    const lengthBytes = Math.min(memory.byteLength, missingBytes);
    const position = this.#position;
    const reading = this.#slots
      .run(() => readPiece(this.#fd, position, memory.subarray(0, lengthBytes)))
      .then((bytes) => ({ memory, bytes }))
      .finally(() => {
        if (this.#reading === reading) this.#reading = undefined;
      });
    // Whoever asks for this chunk gets its failure; nobody may ask.
    reading.catch(() => undefined);
    this.#reading = reading;
    this.#position += lengthBytes;
    return reading;
  }

  async #orAborted(reading: Promise<Chunk>): Promise<Chunk> {
    const signal = this.#signal;
    if (signal === undefined) return reading;
    const { promise, resolve, reject } = Promise.withResolvers<Chunk>();
    const onAbort = () => reject(abortError(signal));
    signal.addEventListener('abort', onAbort, { once: true });
    reading.then(resolve, reject);
    try {
      return await promise;
    } finally {
      signal.removeEventListener('abort', onAbort);
    }
  }
}

/** Fills the buffer, or less of it where the file ends. @returns what of it was filled */
export function readPiece(fd: number, position: number, buffer: Buffer): Promise<Uint8Array> {
  const lengthBytes = buffer.byteLength;
  const { promise, resolve, reject } = Promise.withResolvers<Uint8Array>();
  const readFrom = (filled: number) => {
    fs.read(fd, buffer, filled, lengthBytes - filled, position + filled, (error, readBytes) => {
      if (error !== null) reject(error);
      else if (readBytes === 0 || filled + readBytes === lengthBytes) resolve(buffer.subarray(0, filled + readBytes));
      else readFrom(filled + readBytes);
    });
  };
  readFrom(0);
  return promise;
}
