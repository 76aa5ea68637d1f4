import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { plainAddress } from '../http/plain-address.ts';

/** What reads a socket, as Node's HTTP server stops and starts it where a body is not taken. Undefined: the connection has ended. */
interface Handle {
  reading: boolean;
  readStop(): void;
  readStart(): void;
}

/** In one of so many turns a connection is read again; in the others Node takes new ones, one in a turn. */
const TURNS = 8;

/**
 * What has come on all connections of a server is read in one turn of the event loop, 64 KiB of each. Where that turn has become too long, the rest waits:
 * connections are read again one by one, of each address in turn, so that whoever has many waits behind these and not the others.
 *
 * @returns to be called in such a turn. Nothing more is read in it
 */
export function holdReading(server: Server): () => void {
  /** With their addresses. */
  const sockets = new Map<Socket, string>();
  /** By address. */
  const held = new Map<string, Set<Socket>>();
  let turns = 0;
  const hold = (socket: Socket, address: string) => {
    if (!stop(socket)) return;
    if (held.size === 0) setImmediate(goOn);
    const line = held.get(address) ?? new Set<Socket>();
    held.set(address, line.add(socket));
  };
  const goOn = () => {
    turns += 1;
    const [first] = turns % TURNS === 0 ? held : [];
    if (first) {
      const [address, line] = first;
      const [next] = line;
      held.delete(address);
      if (next) {
        line.delete(next);
        start(next);
      }
      if (line.size > 0) held.set(address, line);
    }
    if (held.size > 0) setImmediate(goOn);
  };
  server.on('connection', (socket: Socket) => {
    const address = plainAddress(socket.remoteAddress ?? '');
    sockets.set(socket, address);
    socket.once('close', () => {
      sockets.delete(socket);
      held.get(address)?.delete(socket);
    });
    // Node begins to read it in a tick of its own.
    if (held.has(address)) process.nextTick(hold, socket, address);
  });
  return () => {
    for (const [socket, address] of sockets) hold(socket, address);
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

/** One that somebody else has paused meanwhile is started by whoever goes on with it. */
function start(socket: Socket): void {
  const handle = handleOf(socket);
  if (!handle || handle.reading || socket.destroyed || socket.isPaused()) return;
  handle.reading = true;
  handle.readStart();
}

function handleOf(socket: Socket): Handle | undefined {
  const handle: unknown = Reflect.get(socket, '_handle');
  return typeof handle === 'object' && handle !== null ? (handle as Handle) : undefined;
}
