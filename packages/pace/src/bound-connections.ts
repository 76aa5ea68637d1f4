import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/**
 * For so long nobody's body is late: until then it may not be known whose it is, where logins are slow to look up. Nor is a connection that has not asked for
 * anything: what it asks may have come, and be read in a moment. In milliseconds.
 */
const UNKNOWN_MS = 2_000;

/** Whoever has more than this fraction of the connections is one of few who fill a server. */
const CROWD_SHARES = 64;

const awaited = new WeakSet<IncomingMessage>();

/** Says of a request that the rest of its body is waited for, however long that takes: whose it is, is known, and how many such they may have is bounded. */
export function awaitBody(request: IncomingMessage): void {
  awaited.add(request);
}

/** Whose connections they are, and which of them end. */
export interface ConnectionBound {
  /**
   * Where something is under way on all, the oldest ends whose body has not come, unless that is awaited or began just now: a stranger's is taken for as long
   * as half a minute before it is refused.
   */
  readonly endsLateBodies?: boolean;
  /** The client of a connection; absent: all are one client's. */
  readonly clientOf?: (socket: Socket) => string;
}

/**
 * Bounds the connections of an HTTP server. Where it is full, the one on which nobody has asked for anything for the longest time ends for a new one: who
 * holds many and asks for nothing keeps nobody out. Those of clients with many go first, so that no flood of new ones ends one that has only just come.
 * Where something is under way on all of them, new ones are closed unread.
 */
export function boundConnections(
  server: Server,
  maxConnections: number,
  { endsLateBodies = false, clientOf = () => '' }: ConnectionBound = {},
): void {
  // Not by Node's own bound: beyond that no code of ours runs, and a port on which everything had been under way once stayed full of what is idle since.
  const open = new Map<Socket, string>();
  const openOf = new Map<string, number>();
  /** On which nothing is under way, and since when; those first on which it has been so for the longest time. Of clients with many, and of all others. */
  const [crowd, idle] = [new Map<Socket, number>(), new Map<Socket, number>()];
  /** The last request of each on which something is under way, the oldest first. */
  const requests = new Map<Socket, { readonly request: IncomingMessage; readonly begunAtMs: number }>();
  const underWay = new WeakMap<Socket, number>();
  const count = (client: string, by: number): number => {
    const left = (openOf.get(client) ?? 0) + by;
    if (left > 0) openOf.set(client, left);
    else openOf.delete(client);
    return left;
  };
  const isKnown = (sinceMs: number) => performance.now() - sinceMs >= UNKNOWN_MS;
  const rest = (socket: Socket) => {
    const isOfMany = count(open.get(socket) ?? '', 0) > maxConnections / CROWD_SHARES;
    (isOfMany ? crowd : idle).set(socket, performance.now());
  };
  const takeOut = (socket: Socket) => {
    for (const sockets of [crowd, idle, requests]) sockets.delete(socket);
  };
  const forget = (socket: Socket) => {
    takeOut(socket);
    const client = open.get(socket);
    if (client !== undefined) count(client, -1);
    open.delete(socket);
  };
  const findLate = () => {
    for (const [socket, { request, begunAtMs }] of requests) {
      if (!request.complete && !awaited.has(request)) return isKnown(begunAtMs) ? socket : undefined;
      // It is not to be looked at again.
      requests.delete(socket);
    }
    return undefined;
  };
  const findEnd = (coming: Socket) => {
    const oldestOf = (sockets: typeof idle) => sockets.entries().find(([each]) => each !== coming && isHttp(each));
    const oldest = oldestOf(crowd) ?? oldestOf(idle);
    if (!oldest) return findLate();
    const [socket, sinceMs] = oldest;
    return crowd.has(socket) || isKnown(sinceMs) ? socket : (findLate() ?? socket);
  };
  const begin = (request: IncomingMessage, response: ServerResponse) => {
    const { socket } = request;
    takeOut(socket);
    if (endsLateBodies) requests.set(socket, { request, begunAtMs: performance.now() });
    underWay.set(socket, (underWay.get(socket) ?? 0) + 1);
    response.once('close', () => {
      if (requests.get(socket)?.request === request) requests.delete(socket);
      const left = (underWay.get(socket) ?? 1) - 1;
      underWay.set(socket, left);
      if (left === 0 && !socket.destroyed) rest(socket);
    });
  };
  server.on('request', begin).on('checkExpectation', begin);
  server.on('connection', (socket: Socket) => {
    if (socket.destroyed) return;
    const client = clientOf(socket);
    open.set(socket, client);
    count(client, 1);
    rest(socket);
    socket.once('close', () => forget(socket));
    if (open.size < maxConnections) return;
    const ended = findEnd(socket) ?? (open.size > maxConnections ? socket : undefined);
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
