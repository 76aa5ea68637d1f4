import type { IncomingMessage, Server } from 'node:http';
import type { Socket } from 'node:net';
import type { OnFlood } from '@wharf/pace';
import { plainAddress } from '../http/plain-address.ts';
import { createSocketLine } from './socket-line.ts';

/** What reads a socket, as Node's HTTP server stops and starts it where a body is not taken. Undefined: the connection has ended. */
interface Handle {
  reading: boolean;
  readStop(): void;
  readStart(): void;
}

/** Turns between two connections that are read again, where one was too long since: in each of them Node takes a new connection. */
const TURNS = 8;
/** One connection in so many is one of those that have sent too many tiny chunks. */
const FLOODING_EACH = 8;
/** One in so many is one that has not had its turn yet. */
const UNKNOWN_EACH = 2;

/**
 * What has come on all connections of a server is read in one turn of the event loop, 64 KiB of each. Where that turn has become too long, the rest waits:
 * connections are read again one by one, of each address in turn, so that whoever has many waits behind these and not the others. Those that had their turn
 * and flooded nothing come first, those that have sent too many tiny chunks come last. One whose turn has come is read, whatever comes on others in it.
 *
 * @returns what is told of bodies in tiny chunks, and of heads. Where those of all are too much, nothing more is read in this turn
 */
export function holdReading(server: Server): (request: IncomingMessage) => OnFlood {
  /** With their addresses. */
  const sockets = new Map<Socket, string>();
  const flooding = new WeakSet<Socket>();
  let harmless = new WeakSet<Socket>();
  // Whoever floods on many that are not known may be older or newer than the others.
  const lines = { harmless: createSocketLine(), unknown: createSocketLine({ fromBothEnds: true }), flooding: createSocketLine() };
  /** In the order in which they are taken from where the one that is due is empty. */
  const all = [lines.harmless, lines.unknown, lines.flooding];
  /** The one whose turn it is, until it has been read. */
  let next: { readonly socket: Socket; readonly bytesRead: number } | undefined;
  let isHolding = false;
  /** Whether a turn was too long since the last one had its turn. */
  let wasLong = false;
  let wait = 0;
  let steps = 0;

  const lineOf = (socket: Socket) => {
    if (flooding.has(socket)) return lines.flooding;
    return harmless.has(socket) ? lines.harmless : lines.unknown;
  };
  const hold = (socket: Socket, address: string) => {
    if (next?.socket === socket && socket.bytesRead === next.bytesRead) return;
    if (!stop(socket)) return;
    lineOf(socket).add(address, socket);
    if (!isHolding) setImmediate(goOn);
    isHolding = true;
  };
  const lineDue = () => {
    if (steps % FLOODING_EACH === 1) return lines.flooding;
    return steps % UNKNOWN_EACH === 0 ? lines.unknown : lines.harmless;
  };
  const takeNext = () => {
    steps += 1;
    return [lineDue(), ...all].find((line) => line.isFilled())?.take();
  };
  const goOn = () => {
    if (next && !flooding.has(next.socket)) harmless.add(next.socket);
    next = undefined;
    if (wait > 0) wait -= 1;
    else {
      const socket = takeNext();
      if (socket && start(socket)) next = { socket, bytesRead: socket.bytesRead };
      wait = wasLong ? TURNS : 0;
      wasLong = false;
    }
    isHolding = next !== undefined || wait > 0 || all.some((line) => line.isFilled());
    if (isHolding) setImmediate(goOn);
    else harmless = new WeakSet();
  };
  server.on('connection', (socket: Socket) => {
    const address = plainAddress(socket.remoteAddress ?? '');
    sockets.set(socket, address);
    socket.once('close', () => {
      sockets.delete(socket);
      for (const line of all) line.remove(address, socket);
    });
    // A new one waits like the others, and so does one that paused itself when it goes on.
    socket.on('resume', () => {
      if (isHolding) hold(socket, address);
    });
  });
  return (request) => ({
    ofConnection() {
      const { socket } = request;
      if (flooding.has(socket)) return;
      flooding.add(socket);
      request.once('close', () => flooding.delete(socket));
    },
    ofAll() {
      wasLong = true;
      for (const [socket, address] of sockets) hold(socket, address);
    },
  });
}

/** @returns whether it was read */
function stop(socket: Socket): boolean {
  const handle = handleOf(socket);
  if (!handle?.reading) return false;
  handle.reading = false;
  handle.readStop();
  return true;
}

/** One that somebody else has paused meanwhile is started by whoever goes on with it. @returns whether it is read now */
function start(socket: Socket): boolean {
  const handle = handleOf(socket);
  if (!handle || handle.reading || socket.destroyed || socket.isPaused()) return false;
  handle.reading = true;
  handle.readStart();
  return true;
}

function handleOf(socket: Socket): Handle | undefined {
  const handle: unknown = Reflect.get(socket, '_handle');
  return typeof handle === 'object' && handle !== null ? (handle as Handle) : undefined;
}
