import { validateHeaderName, validateHeaderValue } from 'node:http';
import net, { type LookupFunction } from 'node:net';
import tls, { type SecureContext } from 'node:tls';
import { AppError } from '@wharf/errors';
import { endlessInterim, MAX_INTERIM_ANSWERS, memoryBytes, ownText } from '@wharf/pace';
import type { Answer, AskedRequest } from './asked-request.ts';
import { hostOf, portOf } from './egress-policy.ts';
import { parseResponseHead, type ResponseHead } from './response-head.ts';

/** Bytes that wait for the receiver on each connection, where nothing else is asked for. */
const PIECE_BYTES = 256 * 1024;
/** With less room than this fraction of a piece left, the next one begins. */
const LEAST_ROOM_SHARES = 4;
/** A connection that stands has a piece that is lent, one that is full and one that has begun. */
const PIECES_OF_ONE = 3;
/** What the big pieces of all connections of the process may take; further ones have small pieces, as whoever takes nothing holds them for minutes. */
const MAX_BIG_PIECES_BYTES = Math.min(128 * 1024 * 1024, memoryBytes() / 8);
/** Twice as much as the longest head. */
const SMALL_PIECE_BYTES = 32 * 1024;
/** As of Node's own client. */
const MAX_HEAD_BYTES = 16 * 1024;
/** Servers of which it is remembered that they do not suit. One that is forgotten is asked once more. */
const MAX_UNSUITED = 1_000;
const END_OF_HEAD = Buffer.from('\r\n\r\n');

/**
 * Connections for big bodies. Node's own client makes a buffer for each 64 KiB, and spends most of its time on collecting those buffers.
 * These connections read into a few buffers, which they use again and again. Bodies of unknown length are left to Node's client.
 */
export interface BulkConnections {
  /** @returns undefined when the answer has no plain length: then Node's client has to ask. @throws what sockets throw */
  ask(request: AskedRequest): Promise<Answer | undefined>;
  /** Ends every connection. */
  close(): void;
}

/** Room that connections share. */
interface PieceRoom {
  /** @returns gives it back; undefined: there is none */
  take(bytes: number): (() => void) | undefined;
}

function createPieceRoom(maxBytes: number): PieceRoom {
  let taken = 0;
  return {
    take(bytes) {
      if (taken + bytes > maxBytes) return undefined;
      taken += bytes;
      return () => {
        taken -= bytes;
      };
    },
  };
}

const roomOfAll = createPieceRoom(MAX_BIG_PIECES_BYTES);

/**
 * @param idleMs how long a connection that nobody uses is kept, in milliseconds
 * @param options.pieceBytes so many bytes wait for the receiver on each connection, in as many buffers of that size as are needed; less, where others have all room
 * @param options.roomBytes for those pieces, another room than that of the process: for tests only
 * @param options.secureContext what servers are verified by; absent: the public authorities
 * @param options.remembersUnsuited whether a server is left to Node's client for good after one answer that has no plain length
 */
export function createBulkConnections(
  lookupOf: (url: URL) => LookupFunction,
  idleMs: number,
  {
    remembersUnsuited = true,
    pieceBytes = PIECE_BYTES,
    secureContext,
    roomBytes,
  }: {
    readonly remembersUnsuited?: boolean;
    readonly pieceBytes?: number;
    readonly secureContext?: SecureContext;
    readonly roomBytes?: number;
  } = {},
): BulkConnections {
  const room = roomBytes === undefined ? roomOfAll : createPieceRoom(roomBytes);
  const open = new Set<BulkConnection>();
  const idle = new Map<string, BulkConnection[]>();
  /** Servers whose answers have no plain length. */
  const unsuited = new Set<string>();
  const keep = (origin: string) => (connection: BulkConnection) => {
    const waiting = idle.get(origin) ?? [];
    idle.set(origin, [...waiting.filter(({ isUsable }) => isUsable), connection]);
  };
  const connect = (url: URL): BulkConnection => {
    const leave = room.take(PIECES_OF_ONE * pieceBytes);
    const connection = new BulkConnection(url, {
      ...{ lookup: lookupOf(url), idleMs, keep: keep(url.origin), secureContext },
      pieceBytes: leave ? pieceBytes : SMALL_PIECE_BYTES,
    });
    open.add(connection);
    connection.onceClosed(() => {
      leave?.();
      open.delete(connection);
      const waiting = idle.get(url.origin)?.filter(({ isUsable }) => isUsable) ?? [];
      if (waiting.length > 0) idle.set(url.origin, waiting);
      else idle.delete(url.origin);
    });
    return connection;
  };
  return {
    async ask(request) {
      const { origin } = request.url;
      if (request.method !== 'GET' || unsuited.has(origin)) return undefined;
      const text = requestText(request);
      const kept = idle.get(origin)?.findLast(({ isUsable }) => isUsable);
      if (kept) idle.set(origin, idle.get(origin)?.filter((each) => each !== kept) ?? []);
      // A server may close an idle connection at the moment of the next request.
      const again = (error: unknown) => {
        if (!kept || kept.hasHeard || request.signal.aborted) throw error;
        return connect(request.url).ask(request, text);
      };
      const answer = await (kept ?? connect(request.url)).ask(request, text).catch(again);
      if (answer === undefined && remembersUnsuited) {
        unsuited.add(ownText(origin));
        const [oldest] = unsuited;
        if (unsuited.size > MAX_UNSUITED && oldest !== undefined) unsuited.delete(oldest);
      }
      return answer;
    },
    close() {
      for (const connection of open) connection.end();
    },
  };
}

/** What a connection is waited for. */
interface Asking {
  readonly resolve: (answer: Answer | undefined) => void;
  readonly reject: (error: unknown) => void;
}

/** Bytes [start, end) of a buffer. */
interface Piece {
  readonly buffer: Buffer;
  readonly start: number;
  readonly end: number;
}

/** An answer whose pieces are in buffers of its connection. */
class BulkAnswer implements Answer {
  readonly statusCode: number;
  readonly headers: Record<string, string>;
  readonly #connection: BulkConnection;
  readonly #whenClosed: (() => void)[] = [];
  complete = false;

  constructor({ statusCode, headers }: ResponseHead, connection: BulkConnection) {
    this.statusCode = statusCode;
    this.headers = headers;
    this.#connection = connection;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Buffer, undefined> {
    try {
      for (let piece = await this.#connection.next(this); piece; piece = await this.#connection.next(this)) yield piece;
    } finally {
      this.#connection.takeBack(this);
      this.destroy();
    }
  }

  destroy(error?: Error): void {
    this.#connection.leave(this, error);
    for (const run of this.#whenClosed.splice(0)) run();
  }

  once(_event: 'close', run: () => void): void {
    this.#whenClosed.push(run);
  }
}

interface BulkSettings {
  readonly lookup: LookupFunction;
  readonly idleMs: number;
  readonly pieceBytes: number;
  /** Told when the connection may be asked for another body. */
  readonly keep: (connection: BulkConnection) => void;
  readonly secureContext: SecureContext | undefined;
}

/** One socket that is asked for one body after the other. */
class BulkConnection {
  readonly #socket: net.Socket;
  readonly #keep: (connection: BulkConnection) => void;
  readonly #idleMs: number;
  readonly #pieceBytes: number;
  readonly #url: URL;
  /** Answers before the answer, since it was asked last. */
  #interim = 0;
  /** Where the socket writes; bytes [start, end) of it wait. */
  #buffer: Buffer;
  #start = 0;
  #end = 0;
  /** What waits of earlier buffers, before that. */
  #pieces: Piece[] = [];
  /** The buffer of the piece that the receiver has. */
  #lent: Buffer | undefined;
  #free: Buffer[] = [];
  #asking: Asking | undefined;
  #isKept = false;
  #answer: BulkAnswer | undefined;
  /** Bytes of the body that have not come, and that were not handed on. */
  #missing = 0;
  #owed = 0;
  /** Wakes the receiver that waits for a piece, or for its failure. */
  #wake: (() => void) | undefined;
  #failure: Error | undefined;
  /** Whether a byte came since it was asked last. */
  hasHeard = false;

  constructor(url: URL, { lookup, idleMs, pieceBytes, keep, secureContext }: BulkSettings) {
    this.#keep = keep;
    this.#pieceBytes = pieceBytes;
    this.#buffer = Buffer.allocUnsafeSlow(pieceBytes);
    this.#idleMs = idleMs;
    this.#url = url;
    const host = hostOf(url);
    const onread = { buffer: () => this.#room(), callback: (bytes: number) => this.#receive(bytes) };
    const settings = { host, port: portOf(url), lookup, onread };
    this.#socket =
      url.protocol === 'https:'
        ? tls.connect({
            ...settings,
            ...(net.isIP(host) === 0 ? { servername: host } : {}),
            ...(secureContext && { secureContext }),
            ALPNProtocols: ['http/1.1'],
          })
        : net.connect(settings);
    this.#socket.on('error', (error) => {
      this.#failure ??= error;
    });
    this.#socket.on('timeout', () => this.#socket.destroy());
    this.#socket.on('close', () => {
      this.#asking?.reject(this.#brokenOff());
      this.#asking = undefined;
      this.#wake?.();
    });
  }

  get isUsable(): boolean {
    return !this.#socket.destroyed;
  }

  onceClosed(run: () => void): void {
    this.#socket.once('close', run);
  }

  end(): void {
    this.#socket.destroy();
  }

  ask({ signal, onConnecting, onConnected, onSent }: AskedRequest, text: string): Promise<Answer | undefined> {
    const { promise, resolve, reject } = Promise.withResolvers<Answer | undefined>();
    const socket = this.#socket;
    const stop = () => void socket.destroy(new Error('stopped'));
    this.#asking = { resolve, reject };
    this.hasHeard = false;
    this.#interim = 0;
    socket.setTimeout(0);
    signal.addEventListener('abort', stop, { once: true });
    onConnecting?.();
    const begin = () => {
      onConnected();
      onSent();
    };
    if (socket.connecting) socket.once(socket instanceof tls.TLSSocket ? 'secureConnect' : 'connect', begin);
    else begin();
    socket.write(text, 'latin1');
    socket.resume();
    if (signal.aborted) stop();
    return promise.finally(() => signal.removeEventListener('abort', stop));
  }

  /** Takes back the receiver's piece, and hands out the next one when it is there; undefined: the body has ended. */
  async next(answer: BulkAnswer): Promise<Buffer | undefined> {
    for (;;) {
      this.takeBack(answer);
      if (this.#answer !== answer) throw this.#brokenOff();
      if (this.#owed === 0) return undefined;
      const piece = this.#takePiece();
      if (piece) {
        this.#owed -= piece.byteLength;
        if (this.#hasRoom()) this.#socket.resume();
        return piece;
      }
      if (this.#socket.destroyed) throw this.#brokenOff();
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  /** A reader that leaves an answer before its end ends the connection, too. */
  leave(answer: BulkAnswer, error?: Error): void {
    if (this.#answer !== answer) return;
    this.#answer = undefined;
    // What the receiver still has must not be written over by another answer.
    if (this.#owed === 0 && this.#lent === undefined && this.#isKept && this.isUsable) {
      this.#socket.setTimeout(this.#idleMs);
      this.#socket.resume();
      this.#keep(this);
    } else {
      this.#failure ??= error;
      this.#socket.destroy();
    }
    this.#wake?.();
  }

  /** Where the socket puts what comes next. */
  #room(): Buffer {
    if (this.#pieceBytes - this.#end < this.#pieceBytes / LEAST_ROOM_SHARES) {
      const full = { buffer: this.#buffer, start: this.#start, end: this.#end };
      const waiting = full.buffer.subarray(full.start, full.end);
      const isFree = this.#lent !== full.buffer && (waiting.byteLength === 0 || this.#asking !== undefined);
      if (!isFree) this.#buffer = this.#free.pop() ?? Buffer.allocUnsafeSlow(this.#pieceBytes);
      this.#start = 0;
      // A head is looked for in one buffer.
      this.#end = this.#asking ? waiting.copy(this.#buffer) : 0;
      if (!this.#asking && waiting.byteLength > 0) this.#pieces.push(full);
    }
    return this.#buffer.subarray(this.#end);
  }

  /** @returns whether the socket shall go on reading */
  #receive(bytes: number): boolean {
    this.#end += bytes;
    this.hasHeard = true;
    if (this.#asking) this.#readHead();
    else this.#count(bytes);
    return this.#hasRoom();
  }

  /** What waits is bounded. */
  #hasRoom(): boolean {
    return this.#pieces.reduce((sum, { start, end }) => sum + end - start, this.#end - this.#start) < this.#pieceBytes;
  }

  #readHead(): void {
    for (;;) {
      const waiting = this.#buffer.subarray(this.#start, this.#end);
      const length = waiting.indexOf(END_OF_HEAD);
      if (length < 0 && waiting.byteLength <= MAX_HEAD_BYTES) return;
      this.#start += length + END_OF_HEAD.byteLength;
      const head = length < 0 || length > MAX_HEAD_BYTES ? undefined : parseResponseHead(waiting.toString('latin1', 0, length));
      if (head && head.statusCode < 200 && head.statusCode !== 101) {
        this.#interim += 1;
        if (this.#interim <= MAX_INTERIM_ANSWERS) continue;
        this.#socket.destroy(endlessInterim(this.#url));
        return;
      }
      if (head && head.statusCode >= 200) this.#begin(head);
      else this.#socket.destroy(new AppError('STORAGE_UNAVAILABLE', `${this.#socket.remoteAddress} answers with what is no HTTP`));
      return;
    }
  }

  #begin(head: ResponseHead): void {
    const asking = this.#asking;
    this.#asking = undefined;
    if (head.bodyBytes === undefined) this.#socket.destroy();
    else {
      this.#isKept = head.isKept;
      this.#missing = head.bodyBytes;
      this.#owed = head.bodyBytes;
      this.#answer = new BulkAnswer(head, this);
      this.#count(this.#end - this.#start);
    }
    asking?.resolve(this.#answer);
  }

  /** Counts bytes of the body that came. */
  #count(bytes: number): void {
    const excess = bytes - this.#missing;
    this.#missing = Math.max(0, -excess);
    if (this.#answer && this.#missing === 0) this.#answer.complete = true;
    if (excess > 0) {
      // The server sent more than was announced or asked for. The connection cannot be used for another answer.
      this.#end -= excess;
      this.#socket.destroy();
    }
    this.#wake?.();
  }

  #takePiece(): Buffer | undefined {
    const piece = this.#pieces.shift() ?? { buffer: this.#buffer, start: this.#start, end: this.#end };
    if (piece.buffer === this.#buffer) this.#start = this.#end;
    if (piece.end === piece.start) return undefined;
    this.#lent = piece.buffer;
    return piece.buffer.subarray(piece.start, piece.end);
  }

  /** The receiver is done with what it has. */
  takeBack(answer: BulkAnswer): void {
    if (this.#answer !== answer) return;
    const buffer = this.#lent;
    this.#lent = undefined;
    if (buffer && buffer !== this.#buffer && this.#pieces[0]?.buffer !== buffer) this.#free.push(buffer);
  }

  #brokenOff(): Error {
    return this.#failure ?? Object.assign(new Error('the connection was closed'), { code: 'ECONNRESET' });
  }
}

/** @throws TypeError for a header that would break the head */
function requestText({ url, target = url.pathname + url.search, headers }: AskedRequest): string {
  let text = `GET ${target} HTTP/1.1\r\n`;
  for (const [name, value] of Object.entries(headers)) {
    validateHeaderName(name);
    validateHeaderValue(name, value);
    text += `${name}: ${value}\r\n`;
  }
  return `${text}Connection: keep-alive\r\n\r\n`;
}
