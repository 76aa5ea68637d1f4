import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

const awaited = new WeakSet<IncomingMessage>();

/** Says of a request that the rest of its body is waited for, however long that takes: whose it is, is known, and how many such they may have is bounded. */
export function awaitBody(request: IncomingMessage): void {
  awaited.add(request);
}

/**
 * Bounds the connections of an HTTP server. Where it is full, the one on which nobody has asked for anything for the longest time ends for a new one: who
 * holds many and asks for nothing keeps nobody out. Where something is under way on all of them, new ones are closed unread.
 *
 * @param options.endsLateBodies where something is under way on all, the oldest ends whose body has not come, unless that is awaited: a stranger's is taken
 * for as long as half a minute before it is refused
 */
export function boundConnections(server: Server, maxConnections: number, { endsLateBodies = false } = {}): void {
  server.maxConnections = maxConnections;
  /** On which nothing is under way, those first on which it has been so for the longest time. */
  const idle = new Set<Socket>();
  /** The last request of each on which something is under way, the oldest first. */
  const requests = new Map<Socket, IncomingMessage>();
  const underWay = new WeakMap<Socket, number>();
  let open = 0;
  const findLate = () => {
    for (const [socket, request] of requests) {
      if (!request.complete && !awaited.has(request)) return socket;
      // It is not to be looked at again.
      requests.delete(socket);
    }
    return undefined;
  };
  const begin = (request: IncomingMessage, response: ServerResponse) => {
    const { socket } = request;
    idle.delete(socket);
    requests.delete(socket);
    if (endsLateBodies) requests.set(socket, request);
    underWay.set(socket, (underWay.get(socket) ?? 0) + 1);
    response.once('close', () => {
      if (requests.get(socket) === request) requests.delete(socket);
      const left = (underWay.get(socket) ?? 1) - 1;
      underWay.set(socket, left);
      if (left === 0 && !socket.destroyed) idle.add(socket);
    });
  };
  server.on('request', begin).on('checkExpectation', begin);
  server.on('connection', (socket: Socket) => {
    if (socket.destroyed) return;
    open += 1;
    idle.add(socket);
    socket.once('close', () => {
      open -= 1;
      idle.delete(socket);
      requests.delete(socket);
    });
    if (open < maxConnections) return;
    const oldest = idle.values().find((each) => each !== socket && isHttp(each)) ?? findLate();
    oldest?.destroy();
  });
}

/** Node takes its parser from one that has become a tunnel. */
function isHttp(socket: Socket): boolean {
  return Boolean(Reflect.get(socket, 'parser'));
}
