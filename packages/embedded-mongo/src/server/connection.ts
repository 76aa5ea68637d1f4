import type { Socket } from 'node:net';
import { CommandError } from '../command/command-error.ts';
import { encodeError } from '../command/reply.ts';
import type { Engine } from './engine.ts';
import { encodeMessage, type Frame, FrameReader, ProtocolError, readCommand, wantsReply } from './wire.ts';

/** Reading stops while this many commands of a connection wait, or this much of its answers is unsent. */
const MAX_PENDING = 64;
const MAX_UNSENT_BYTES = 64 * 1024 * 1024;

/** One client. Its commands are answered in order. */
export class Connection {
  readonly #socket: Socket;
  readonly #engine: Engine;
  readonly #id: number;
  readonly #reader = new FrameReader();
  #pending = 0;
  #lastResponseId = 0;

  constructor(socket: Socket, engine: Engine, id: number) {
    this.#socket = socket;
    this.#engine = engine;
    this.#id = id;
    socket.setNoDelay(true);
    socket.on('data', (chunk) => this.#onData(chunk));
    // A client that goes away is no event of interest; the socket closes by itself after an error.
    socket.on('error', () => undefined);
    socket.on('drain', () => this.#resume());
  }

  /** Ends the connection after what was answered has been sent. */
  end(): void {
    this.#socket.end();
  }

  destroy(): void {
    this.#socket.destroy();
  }

  #onData(chunk: Buffer): void {
    try {
      for (const frame of this.#reader.push(chunk)) this.#onFrame(frame);
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error;
      this.#socket.destroy();
      return;
    }
    if (this.#pending >= MAX_PENDING) this.#socket.pause();
  }

  #onFrame(frame: Frame): void {
    try {
      const { body, requestId, isLegacy, wantsReply: isAnswered } = readCommand(frame);
      this.#pending++;
      this.#engine.submit({
        body,
        connectionId: this.#id,
        answer: (document) => {
          this.#pending--;
          if (isAnswered) this.#send(document, requestId, isLegacy);
          this.#resume();
        },
      });
    } catch (error) {
      if (!(error instanceof CommandError)) throw error;
      if (wantsReply(frame)) this.#send(encodeError(error), frame.requestId, false);
    }
  }

  #send(document: Buffer, responseTo: number, isLegacy: boolean): void {
    if (this.#socket.destroyed) return;
    this.#lastResponseId = (this.#lastResponseId + 1) & 0x7fffffff;
    this.#socket.write(encodeMessage(document, responseTo, this.#lastResponseId, isLegacy));
    if (this.#socket.writableLength > MAX_UNSENT_BYTES) this.#socket.pause();
  }

  #resume(): void {
    const isBehind = this.#pending >= MAX_PENDING || this.#socket.writableLength > MAX_UNSENT_BYTES;
    if (!isBehind && this.#socket.isPaused()) this.#socket.resume();
  }
}
