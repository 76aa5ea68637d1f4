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
  /** The client of a connection; undefined: it is one of many clients, or of our own, and is not counted. */
  readonly clientOf?: (socket: Socket) => string | undefined;
}

interface Client {
  readonly name: string;
  openCount: number;
  /** On which nothing is under way, those first on which it has been so for the longest time. */
  readonly idle: Set<Socket>;
}

/**
 * Bounds the connections of an HTTP server. Where it is full, the one on which nobody has asked for anything for the longest time ends for a new one: who
 * holds many and asks for nothing keeps nobody out. Of those that have only just come, those of clients with many go first, so that no flood ends others'.
 * Where something is under way on all of them, new ones are closed unread.
 */
export function boundConnections(
  server: Server,
  maxConnections: number,
  { endsLateBodies = false, clientOf = () => undefined }: ConnectionBound = {},
): void {
  // Not by Node's own bound: beyond that no code of ours runs, and a port on which everything had been under way once stayed full of what is idle since.
  const open = new Map<Socket, Client | undefined>();
  const clients = new Map<string, Client>();
  /** Those with many: fewer than CROWD_SHARES. */
  const crowd = new Set<Client>();
  /** On which nothing is under way, and since when; those first on which it has been so for the longest time. */
  const idle = new Map<Socket, number>();
  /** The last request of each on which something is under way, the oldest first. */
  const requests = new Map<Socket, { readonly request: IncomingMessage; readonly begunAtMs: number }>();
  const underWay = new WeakMap<Socket, number>();
  const count = (client: Client, by: number): void => {
    client.openCount += by;
    if (client.openCount > maxConnections / CROWD_SHARES) crowd.add(client);
    else crowd.delete(client);
    if (client.openCount > 0) clients.set(client.name, client);
    else clients.delete(client.name);
  };
  const isKnown = (sinceMs: number) => performance.now() - sinceMs >= UNKNOWN_MS;
  const rest = (socket: Socket) => {
    idle.set(socket, performance.now());
    open.get(socket)?.idle.add(socket);
  };
  const takeOut = (socket: Socket) => {
    for (const sockets of [idle, requests, open.get(socket)?.idle]) sockets?.delete(socket);
  };
  const enter = (socket: Socket) => {
    const name = clientOf(socket);
    const client = name === undefined ? undefined : (clients.get(name) ?? { name, openCount: 0, idle: new Set() });
    if (client) count(client, 1);
    open.set(socket, client);
  };
  const forget = (socket: Socket) => {
    takeOut(socket);
    const client = open.get(socket);
    if (client) count(client, -1);
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
  const oldestOf = (sockets: Iterable<Socket>) => {
    for (const socket of sockets) {
      if (isHttp(socket)) return { socket, sinceMs: idle.get(socket) ?? 0 };
      // Never again.
      takeOut(socket);
    }
    return undefined;
  };
  const findOfMany = () => {
    const oldest = [...crowd].flatMap((client) => oldestOf(client.idle) ?? []);
    return oldest.sort((one, other) => one.sinceMs - other.sinceMs)[0];
  };
  const findEnd = () => {
    const oldest = oldestOf(idle.keys());
    if (oldest && isKnown(oldest.sinceMs)) return oldest.socket;
    return findOfMany()?.socket ?? findLate() ?? oldest?.socket;
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
    enter(socket);
    socket.once('close', () => forget(socket));
    const ended = open.size < maxConnections ? undefined : (findEnd() ?? (open.size > maxConnections ? socket : undefined));
    rest(socket);
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
