import type { IncomingMessage } from 'node:http';
import { createTurns } from './turns.ts';

/** Pieces of a body in one turn of the event loop, after which its connection waits for another one. Honest bodies have some dozens in a turn. */
const MAX_PIECES = 1_000;

const takeTurn = createTurns();

/**
 * Has a chunked body read in turns with other work. The system hands on up to 2 MiB of a connection in one turn of the event loop, and each chunk in it
 * is a piece of its own: a third of a million where each has one byte. With this, what was read at once (64 KiB) is the most of one turn, and one
 * connection with so many pieces goes on in a turn.
 */
export function pacePieces(message: IncomingMessage): void {
  if (message.headers['transfer-encoding'] === undefined) return;
  const push = message.push.bind(message);
  const read = message._read.bind(message);
  let pieces = 0;
  let isWaiting = false;
  let isAsked = false;
  message.push = (chunk: unknown, encoding?: BufferEncoding) => {
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
