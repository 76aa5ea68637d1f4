import type { IncomingMessage, ServerResponse } from 'node:http';

/** Requests of one connection that may wait behind the one that is answered. Browsers send none ahead. */
const MAX_WAITING = 100;

const WAITING = new WeakMap<IncomingMessage['socket'], number>();

/**
 * Begins the requests of a connection one after the other, each when the answer to the one before is out. Node hands them on as they are read, up to 80,000 in
 * one turn of the event loop, and an answer that waits behind another one is never told that its client has gone: what it held would be held for ever.
 *
 * While one waits nothing more is read; beyond MAX_WAITING, which come in one piece, the connection ends.
 *
 * @param begin answers the request. It is not called where the client has gone before
 */
export function serveInTurn({ socket }: IncomingMessage, response: ServerResponse, begin: () => void): void {
  // Node gives an answer its socket when its turn has come.
  if (response.socket) {
    begin();
    return;
  }
  const waiting = (WAITING.get(socket) ?? 0) + 1;
  if (waiting > MAX_WAITING) {
    socket.destroy();
    return;
  }
  WAITING.set(socket, waiting);
  socket.pause();
  const take = () => {
    const left = (WAITING.get(socket) ?? 1) - 1;
    WAITING.set(socket, left);
    if (left === 0) socket.resume();
    if (!response.destroyed) begin();
  };
  // Many short answers in a row would be one long turn.
  response.once('socket', () => setImmediate(take));
}
