import type { IncomingMessage, Server } from 'node:http';
import type { Socket } from 'node:net';
import type { OnShortPieces } from '@wharf/pace';
import { plainAddress } from '../http/plain-address.ts';

/** What reads a socket, as Node's HTTP server stops and starts it where a body is not taken. Undefined: the connection has ended. */
interface Handle {
  reading: boolean;
  readStop(): void;
  readStart(): void;
}

/** After a turn that was too long no connection is read again for so many: in each Node takes a new one. */
const TURNS = 8;
/** One connection in so many is one of those that have sent too many tiny chunks. */
const FLOODING_EACH = 8;
/** One in so many is one that has not had its turn yet: the oldest and the newest in turn, for whoever floods on many may be older or newer than the others. */
const UNKNOWN_EACH = 2;

/**
 * What has come on all connections of a server is read in one turn of the event loop, 64 KiB of each. Where that turn has become too long, the rest waits:
 * connections are read again one by one, of each address in turn, so that whoever has many waits behind these and not the others. Those that had their turn
 * and flooded nothing come first, those that have sent too many tiny chunks come last. One whose turn has come is read, whatever comes on others in it.
 *
 * @returns what is told of bodies in tiny chunks. Where those of all are too many, nothing more is read in this turn
 */
export function holdReading(server: Server): (request: IncomingMessage) => OnShortPieces {
  /** With their addresses. */
  const sockets = new Map<Socket, string>();
  const flooding = new WeakSet<Socket>();
  let harmless = new WeakSet<Socket>();
  const lines = { harmless: createLine(), unknown: createLine(), flooding: createLine() };
  const all = Object.values(lines);
  /** The one whose turn it is, until it has been read. */
  let next: { readonly socket: Socket; readonly bytesRead: number } | undefined;
  let isHolding = false;
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
  const takeNext = () => {
    steps += 1;
    const ofUnknown = () => (steps % (2 * UNKNOWN_EACH) === 0 ? lines.unknown.takeNewest() : undefined) ?? lines.unknown.take();
    if (steps % FLOODING_EACH === 1) return lines.flooding.take() ?? lines.harmless.take() ?? ofUnknown();
    if (steps % UNKNOWN_EACH === 0) return ofUnknown() ?? lines.harmless.take() ?? lines.flooding.take();
    return lines.harmless.take() ?? ofUnknown() ?? lines.flooding.take();
  };
  const goOn = () => {
    if (next && !flooding.has(next.socket)) harmless.add(next.socket);
    next = undefined;
    if (wait > 0) wait -= 1;
    else {
      const socket = takeNext();
      if (socket && start(socket)) next = { socket, bytesRead: socket.bytesRead };
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
    // One that paused itself waits like the others when it goes on.
    socket.on('resume', () => {
      if (isHolding) hold(socket, address);
    });
    // Node begins to read it in a tick of its own.
    if (isHolding) process.nextTick(hold, socket, address);
  });
  return (request) => ({
    ofBody() {
      const { socket } = request;
      if (flooding.has(socket)) return;
      flooding.add(socket);
      request.once('close', () => flooding.delete(socket));
    },
    ofAll() {
      // New connections that flood in each turn put off nobody's.
      if (wait === 0) wait = TURNS;
      for (const [socket, address] of sockets) hold(socket, address);
    },
  });
}

/** Sockets that wait, of each address in turn. */
interface Line {
  add(address: string, socket: Socket): void;
  remove(address: string, socket: Socket): void;
  isFilled(): boolean;
  take(): Socket | undefined;
  /** Of the addresses with one socket the last that was added. */
  takeNewest(): Socket | undefined;
}

function createLine(): Line {
  const waiting = new Map<string, Set<Socket>>();
  const remove = (address: string, socket: Socket) => {
    const ofAddress = waiting.get(address);
    ofAddress?.delete(socket);
    if (ofAddress?.size === 0) waiting.delete(address);
  };
  return {
    add(address, socket) {
      const ofAddress = waiting.get(address) ?? new Set<Socket>();
      waiting.set(address, ofAddress.add(socket));
    },
    remove,
    isFilled: () => waiting.size > 0,
    take() {
      const [first] = waiting;
      if (!first) return undefined;
      const [address, ofAddress] = first;
      const [socket] = ofAddress;
      waiting.delete(address);
      if (socket) ofAddress.delete(socket);
      if (ofAddress.size > 0) waiting.set(address, ofAddress);
      return socket;
    },
    takeNewest() {
      const newest = [...waiting].findLast(([, ofAddress]) => ofAddress.size === 1);
      if (!newest) return undefined;
      waiting.delete(newest[0]);
      return [...newest[1]][0];
    },
  };
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
