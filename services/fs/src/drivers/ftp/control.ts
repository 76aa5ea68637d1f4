import type { Socket } from 'node:net';
import { AppError } from '@wharf/errors';
import { storageError } from '../../driver-contract/storage-error.ts';
import { RefusedReply } from './errors.ts';
import { type Reply, ReplyReader } from './replies.ts';

const KEEPALIVE_MS = 30_000;
/** A server that owes a reply has so long: longer than any call waits. What goes on without its caller would hold its session for ever. */
const SILENT_MS = 360_000;
/** Replies that come before somebody waits for them: that a transfer begins, and that it is over. */
const MAX_EARLY = 4;
/** Before its last reply a command has one other. */
const MAX_PRELIMINARY = 10;

/** The connection for commands: one at a time, each with its replies. What the server refuses is a RefusedReply. */
export class ControlConnection {
  #socket: Socket;
  #reader = new ReplyReader();
  readonly #replies: Reply[] = [];
  #waiting: { resolve: (reply: Reply) => void; reject: (error: unknown) => void } | undefined;
  /** The server owes replies. Its greeting is the first. */
  #isAsked = true;
  #onAnswered: () => void = () => undefined;
  #failure: AppError | undefined;
  /** After so long without a word of the server nothing is waited for any more. */
  readonly silentMs: number;
  /** Told once it is over. */
  onEnd: () => void = () => undefined;

  /** @param silentMs another time than the standard one is given by tests only */
  constructor(socket: Socket, silentMs = SILENT_MS) {
    this.#socket = socket;
    this.silentMs = silentMs;
    socket.setKeepAlive(true, KEEPALIVE_MS);
    this.#listen();
  }

  get isEnded(): boolean {
    return this.#failure !== undefined;
  }

  /** Whether all that was asked is answered. */
  get isIdle(): boolean {
    return !this.#isAsked;
  }

  /** Sends a command and answers its last reply. @throws RefusedReply */
  async ask(verb: string, argument?: Uint8Array | string): Promise<Reply> {
    this.send(verb, argument);
    return this.finish();
  }

  /** Sends a command. Its replies are asked for with `next` and `finish`. @param argument free of line breaks; a text of bytes */
  send(verb: string, argument?: Uint8Array | string): void {
    if (this.#failure) throw this.#failure;
    if (this.#isAsked) throw new Error('the last command is not answered');
    this.#isAsked = true;
    const text = typeof argument === 'string' ? Buffer.from(argument, 'latin1') : (argument ?? Buffer.alloc(0));
    if (text.some((byte) => byte === 0 || byte === 10 || byte === 13)) throw storageError('INVALID_ARGUMENT');
    this.#socket.write(Buffer.concat([Buffer.from(verb), Buffer.from(text.byteLength > 0 ? ' ' : ''), text, Buffer.from('\r\n')]));
  }

  /** The next reply, also one that is not the last. @throws RefusedReply */
  async next(): Promise<Reply> {
    const reply = this.#replies.shift() ?? (await this.#wait());
    if (reply.code >= 200) {
      this.#isAsked = false;
      this.#onAnswered();
    }
    if (reply.code >= 400) throw new RefusedReply(reply.code, reply.lines.join(' '));
    return reply;
  }

  /** The last reply of a command. @throws RefusedReply */
  async finish(): Promise<Reply> {
    for (let count = 0; count <= MAX_PRELIMINARY; count += 1) {
      const reply = await this.next();
      if (reply.code >= 200) return reply;
    }
    this.end(new AppError('STORAGE_UNAVAILABLE', 'the server answers without end'));
    return this.next();
  }

  /** When nobody waits for what is still owed: waits until it came, or ends the connection. */
  async settle(withinMs: number): Promise<void> {
    if (!this.#isAsked || this.#failure) return;
    const timer = setTimeout(() => this.end(), withinMs);
    try {
      // Whoever waits already takes the reply.
      if (this.#waiting) {
        await new Promise<void>((resolve) => {
          this.#onAnswered = resolve;
        });
      } else await this.finish();
    } catch {
      // A refusal is an answer; anything else has ended the connection.
    } finally {
      clearTimeout(timer);
      this.#onAnswered = () => undefined;
    }
  }

  /** Goes on over another socket that stands on this one. @throws AppError STORAGE_UNAVAILABLE: something came before it */
  async secure(over: (socket: Socket) => Promise<Socket>): Promise<void> {
    if (this.#replies.length > 0 || this.#reader.isHalfway) throw storageError('STORAGE_UNAVAILABLE', new Error('bytes before TLS'));
    this.#socket.removeAllListeners('data');
    this.#socket = await over(this.#socket);
    this.#reader = new ReplyReader();
    this.#listen();
    if (this.#failure) throw this.#failure;
  }

  /** Lets go of the connection at once. Safe twice. */
  end(cause?: unknown): void {
    if (this.#failure) return;
    this.#failure = AppError.is(cause) ? cause : storageError('STORAGE_UNAVAILABLE', cause);
    this.#waiting?.reject(this.#failure);
    this.#waiting = undefined;
    this.#onAnswered();
    this.#socket.destroy();
    this.onEnd();
  }

  #listen(): void {
    const socket = this.#socket;
    const end = (cause?: unknown) => this.end(cause);
    socket
      .on('error', end)
      .on('close', () => end())
      .on('end', () => end());
    socket.on('data', (chunk: Buffer) => this.#take(chunk));
  }

  #take(chunk: Buffer): void {
    if (this.#failure) return;
    try {
      for (const reply of this.#reader.take(chunk)) {
        if (!this.#isAsked) throw storageError('STORAGE_UNAVAILABLE', new RefusedReply(reply.code, reply.lines.join(' ')));
        if (this.#replies.length >= MAX_EARLY) throw new AppError('STORAGE_UNAVAILABLE', 'the server answers what nobody asked');
        const { resolve } = this.#waiting ?? { resolve: (early: Reply) => this.#replies.push(early) };
        this.#waiting = undefined;
        resolve(reply);
      }
    } catch (error) {
      this.end(error);
    }
  }

  #wait(): Promise<Reply> {
    const late = () => this.end(new AppError('DEADLINE_EXCEEDED', 'the server did not answer in time'));
    const timer = setTimeout(late, this.silentMs);
    const answered = new Promise<Reply>((resolve, reject) => {
      if (this.#failure) reject(this.#failure);
      else this.#waiting = { resolve, reject };
    });
    return answered.finally(() => clearTimeout(timer));
  }
}
