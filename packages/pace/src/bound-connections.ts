import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** For so long nobody's body is late: until then it may not be known whose it is, where logins are slow to look up. In milliseconds. */
const UNKNOWN_MS = 2_000;

const awaited = new WeakSet<IncomingMessage>();

/** Says of a request that the rest of its body is waited for, however long that takes: whose it is, is known, and how many such they may have is bounded. */
export function awaitBody(request: IncomingMessage): void {
  awaited.add(request);
}

/**
 * Bounds the connections of an HTTP server. Where it is full, the one on which nobody has asked for anything for the longest time ends for a new one: who
 * holds many and asks for nothing keeps nobody out. Where something is under way on all of them, new ones are closed unread.
 *
 * @param options.endsLateBodies where something is under way on all, the oldest ends whose body has not come, unless that is awaited or began just now: a
 * stranger's is taken for as long as half a minute before it is refused
 */
export function boundConnections(server: Server, maxConnections: number, { endsLateBodies = false } = {}): void {
  // Not by Node's own bound: beyond that no code of ours runs, and a port on which everything had been under way once stayed full of what is idle since.
  const open = new Set<Socket>();
  /** On which nothing is under way, those first on which it has been so for the longest time. */
  const idle = new Set<Socket>();
  /** The last request of each on which something is under way, the oldest first. */
  const requests = new Map<Socket, { readonly request: IncomingMessage; readonly begunAtMs: number }>();
  const underWay = new WeakMap<Socket, number>();
  const forget = (socket: Socket) => {
    open.delete(socket);
    idle.delete(socket);
    requests.delete(socket);
  };
  const findLate = () => {
    for (const [socket, { request, begunAtMs }] of requests) {
      if (!request.complete && !awaited.has(request)) return performance.now() - begunAtMs < UNKNOWN_MS ? undefined : socket;
      // It is not to be looked at again.
      requests.delete(socket);
    }
    return undefined;
  };
  const begin = (request: IncomingMessage, response: ServerResponse) => {
    const { socket } = request;
    idle.delete(socket);
    requests.delete(socket);
    if (endsLateBodies) requests.set(socket, { request, begunAtMs: performance.now() });
    underWay.set(socket, (underWay.get(socket) ?? 0) + 1);
    response.once('close', () => {
      if (requests.get(socket)?.request === request) requests.delete(socket);
      const left = (underWay.get(socket) ?? 1) - 1;
      underWay.set(socket, left);
      if (left === 0 && !socket.destroyed) idle.add(socket);
    });
  };
  server.on('request', begin).on('checkExpectation', begin);
  server.on('connection', (socket: Socket) => {
    if (socket.destroyed) return;
    open.add(socket);
    idle.add(socket);
    socket.once('close', () => forget(socket));
    if (open.size < maxConnections) return;
    const oldest = idle.values().find((each) => each !== socket && isHttp(each)) ?? findLate();
    const ended = oldest ?? (open.size > maxConnections ? socket : undefined);
    if (!ended) return;
    // Before it says that it is closed, others may come.
    forget(ended);
    ended.destroy();
  });
}

/** Node takes its parser from one that has become a tunnel. */
function isHttp(socket: Socket): boolean {
  return Boolean(Reflect.get(socket, 'parser'));
}
