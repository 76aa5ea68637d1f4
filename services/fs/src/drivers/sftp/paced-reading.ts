import type { Socket } from 'node:net';
import { AppError } from '@wharf/errors';
import { createPace, forOwner } from '@wharf/pace';

/**
 * What a server may send without answering anything that was asked, within a minute. The largest answer has 256 KiB, which count until it is whole; a greeting and
 * signs of life have less. It is 9,000 of the smallest messages.
 */
const MAX_UNASKED_BYTES = 384 * 1024;
const UNASKED_MS = 60_000;
/** Answers of ours that the server does not take, beside what is uploaded. */
const MAX_UNSENT_BYTES = 32 * 1024 * 1024;
let connections = 0;

/** Lets other work have its turn between what a server sends, and ends a connection over which it sends what nobody asked for. */
export class PacedReading {
  /** Told once the server floods. */
  onFlood: (error: AppError) => void;
  #unaskedBytes = 0;
  #since = performance.now();

  /** @param socket that nobody reads yet: who does calls `resume` */
  constructor(socket: Socket, onFlood: (error: AppError) => void) {
    this.onFlood = onFlood;
    // Others use it than who had it made.
    connections += 1;
    const pace = forOwner(`SSH connection ${connections}`, () => createPace());
    socket.pause().on('data', (chunk: Buffer) => {
      this.#count(chunk.byteLength);
      if (this.#unaskedBytes > MAX_UNASKED_BYTES || socket.writableLength > MAX_UNSENT_BYTES) {
        this.onFlood(new AppError('STORAGE_UNAVAILABLE', 'the server floods the connection with what nobody asked for'));
        return;
      }
      socket.pause();
      void pace.step().then(() => socket.resume());
    });
  }

  /** Something that was asked has its answer. */
  answered(): void {
    this.#unaskedBytes = 0;
  }

  #count(bytes: number): void {
    const now = performance.now();
    if (now - this.#since > UNASKED_MS) {
      this.#since = now;
      this.#unaskedBytes = 0;
    }
    this.#unaskedBytes += bytes;
  }
}
