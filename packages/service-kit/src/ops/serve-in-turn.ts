import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { cutOff, type OnFlood } from '@wharf/pace';

/** Requests of one connection that may wait behind the one that is answered. Browsers send none ahead. */
const MAX_WAITING = 100;
/** What requests that wait may hold together in this process, by their weight in bytes. */
const MAX_WEIGHT_BYTES = 16 * 1024 * 1024;

/** What Node makes of a request with no headers, and of each of its texts, in bytes (measured: 2,200 and 32). */
const REQUEST_BYTES = 4 * 1024;
const TEXT_BYTES = 64;
/** What the first one that waits on a connection may weigh without being counted, in bytes: far more than those of browsers. */
const UNCOUNTED_BYTES = 16 * 1024;

/** Requests that wait on a connection beyond which it is one of those that flood. */
const MANY_WAITING = 16;
/** What the requests of all connections may weigh in one turn of the event loop, counted in the same way, but each as a short one at least: 128 of these. */
const MAX_WEIGHT_OF_TURN_BYTES = 512 * 1024;

/** Requests of one connection that wait, and what they weigh. */
interface Line {
  waiting: number;
  weightBytes: number;
}

const LINES = new WeakMap<Socket, Line>();
let weightOfAllBytes = 0;
let weightOfTurnBytes = 0;

/**
 * Begins the requests of a connection one after the other, each when the answer to the one before is out. Node hands them on as they are read, up to 80,000 in
 * one turn of the event loop, and an answer that waits behind another one is never told that its client has gone: what it held would be held for ever.
 *
 * While one waits nothing more is read; beyond MAX_WAITING, which come in one piece, the connection ends. So it does where the requests that wait on all
 * connections weigh too much. The first one of each counts for what is beyond UNCOUNTED_BYTES there: a client may have its answer a moment before that is
 * known here.
 *
 * @param begin answers the request. It is not called where the client has gone before
 * @param onFlood is told where the requests of a turn weigh too much, and which connections have many that wait
 */
export function serveInTurn(request: IncomingMessage, response: ServerResponse, begin: () => void, onFlood?: OnFlood): void {
  const { socket } = request;
  const line = LINES.get(socket);
  const weightBytes = Math.max(0, weightOf(request) - (line?.waiting ? 0 : UNCOUNTED_BYTES));
  countOfTurn(Math.max(weightBytes, REQUEST_BYTES), onFlood);
  // Node gives an answer its socket when its turn has come.
  if (response.socket) begin();
  // Else it is of what came with the request that was too much.
  else if (!socket.destroyed) queue(request, response, { line: line ?? openLine(socket), weightBytes, begin, onFlood });
}

interface Queued {
  readonly line: Line;
  readonly weightBytes: number;
  readonly begin: () => void;
  readonly onFlood: OnFlood | undefined;
}

function queue({ socket }: IncomingMessage, response: ServerResponse, { line, weightBytes, begin, onFlood }: Queued): void {
  if (line.waiting >= MAX_WAITING || weightOfAllBytes + weightBytes > MAX_WEIGHT_BYTES) {
    cutOff(socket);
    return;
  }
  line.waiting += 1;
  if (line.waiting === MANY_WAITING) onFlood?.ofConnection();
  weigh(line, weightBytes);
  socket.pause();
  const take = () => {
    line.waiting -= 1;
    if (line.waiting === 0) socket.resume();
    if (response.destroyed) return;
    weigh(line, -weightBytes);
    begin();
  };
  // Many short answers in a row would be one long turn.
  response.once('socket', () => setImmediate(take));
}

function countOfTurn(bytes: number, onFlood: OnFlood | undefined): void {
  if (weightOfTurnBytes === 0)
    setImmediate(() => {
      weightOfTurnBytes = 0;
    });
  const isTooMuch = weightOfTurnBytes < MAX_WEIGHT_OF_TURN_BYTES && weightOfTurnBytes + bytes >= MAX_WEIGHT_OF_TURN_BYTES;
  weightOfTurnBytes += bytes;
  if (isTooMuch) onFlood?.ofAll();
}

function openLine(socket: Socket): Line {
  const line = { waiting: 0, weightBytes: 0 };
  LINES.set(socket, line);
  socket.once('close', () => weigh(line, -line.weightBytes));
  return line;
}

function weigh(line: Line, bytes: number): void {
  line.weightBytes += bytes;
  weightOfAllBytes += bytes;
}

function weightOf({ url = '', rawHeaders }: IncomingMessage): number {
  return rawHeaders.reduce((sum, text) => sum + TEXT_BYTES + text.length, REQUEST_BYTES + url.length);
}
