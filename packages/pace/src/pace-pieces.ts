import type { IncomingMessage } from 'node:http';
import { createTurns } from './turns.ts';

/** Pieces of a body in one turn of the event loop, after which its connection waits for another one. Honest bodies have some dozens in a turn. */
const MAX_PIECES = 1_000;

/** Short pieces of all bodies in one turn of the event loop, some 7 ms: what has come on all connections is read in one, with up to 11,000 on each. */
const MAX_SHORT_OF_TURN = 5_000;

/** Pieces that are shorter are put together, in bytes. */
const SHORT_BYTES = 1_024;
/** What is put together goes on when it has so many bytes, or at the end of the turn of the event loop. */
const GATHERED_BYTES = 16 * 1_024;

const takeTurn = createTurns();
let shortOfTurn = 0;
let turn = 0;

/** Who is told of what takes too much of a turn of the event loop: short pieces of bodies, and heads. */
export interface OnFlood {
  /** Where those of this connection are too many for a turn. */
  ofConnection(): void;
  /** Where those of all are, once in a turn. */
  ofAll(): void;
}

/**
 * Has a chunked body read in turns with other work. The system hands on up to 2 MiB of a connection in one turn of the event loop, and each chunk in it
 * is a piece of its own: a third of a million where each has one byte. With this, what was read at once (64 KiB) is the most of one turn, and one
 * connection with so many pieces goes on in a turn. Short pieces that come together are handed on as one: each costs whoever takes it as much as a long one.
 * So are those that come while nobody takes any, also of a body that is not chunked, whose client sends them one by one: each takes far more memory than it
 * has bytes.
 */
export function pacePieces(message: IncomingMessage, onFlood?: OnFlood): void {
  const { 'transfer-encoding': encoding, 'content-length': length } = message.headers;
  if (encoding === undefined && length === undefined) return;
  const push = gathering(message, message.push.bind(message), encoding !== undefined);
  if (encoding === undefined) {
    message.push = push;
    return;
  }
  const read = message._read.bind(message);
  const count = onFlood && createCount(onFlood);
  let pieces = 0;
  let isWaiting = false;
  let isAsked = false;
  message.push = (chunk: unknown, encoding?: BufferEncoding) => {
    if (count && chunk instanceof Uint8Array && chunk.byteLength < SHORT_BYTES) count();
    const takesMore = push(chunk, encoding);
    pieces += 1;
    if (pieces < MAX_PIECES || chunk === null) return takesMore;
    if (!isWaiting) {
      isWaiting = true;
      void takeTurn().then(() => {
        isWaiting = false;
        pieces = 0;
        if (isAsked && !message.complete && !message.destroyed) read(0);
        isAsked = false;
      });
    }
    // Node reads no more of the connection then, until it is asked for more.
    return false;
  };
  message._read = (size) => {
    if (isWaiting) isAsked = true;
    else read(size);
  };
}

/** @returns counts a short piece of a body */
function createCount({ ofConnection, ofAll }: OnFlood): () => void {
  let ofTurn = turn;
  let short = 0;
  return () => {
    if (shortOfTurn === 0)
      setImmediate(() => {
        shortOfTurn = 0;
        turn += 1;
      });
    shortOfTurn += 1;
    short = ofTurn === turn ? short + 1 : 1;
    ofTurn = turn;
    if (short === MAX_PIECES) ofConnection();
    if (shortOfTurn === MAX_SHORT_OF_TURN) ofAll();
  };
}

type Push = (chunk: unknown, encoding?: BufferEncoding) => boolean;

/** @param always else where one waits already: what is taken at once is not held up */
function gathering(message: IncomingMessage, push: Push, always: boolean): Push {
  let room: Buffer | undefined;
  let length = 0;
  let isDue = false;
  const handOn = () => {
    if (!room || length === 0) return true;
    // Memory of its own, which whoever takes it may give back, and no more of it than there are bytes.
    const piece = length < GATHERED_BYTES / 2 ? copyOf(room, length) : room.subarray(0, length);
    room = undefined;
    length = 0;
    return push(piece);
  };
  const handOnSoon = () => {
    if (isDue) return;
    isDue = true;
    setImmediate(() => {
      isDue = false;
      // Else it goes on with what comes until somebody reads.
      if (message.readableLength === 0) handOn();
    });
  };
  const read = message.read.bind(message);
  message.read = (size) => {
    const piece: unknown = read(size);
    if (length > 0 && message.readableLength === 0) handOnSoon();
    return piece;
  };
  return (chunk, encoding) => {
    if (!(chunk instanceof Uint8Array) || chunk.byteLength >= SHORT_BYTES) {
      handOn();
      return push(chunk, encoding);
    }
    if (!always && length === 0 && message.readableLength === 0) return push(chunk, encoding);
    room ??= Buffer.allocUnsafeSlow(GATHERED_BYTES);
    if (length === 0) handOnSoon();
    room.set(chunk, length);
    length += chunk.byteLength;
    if (length > GATHERED_BYTES - SHORT_BYTES) return handOn();
    return message.readableLength + length < message.readableHighWaterMark;
  };
}

function copyOf(room: Buffer, length: number): Buffer {
  const copy = Buffer.allocUnsafeSlow(length);
  room.copy(copy, 0, 0, length);
  return copy;
}
