import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/**
 * Bounds the connections of an HTTP server. Where it is full, the one on which nobody has asked for anything for the longest time ends for a new one: who
 * holds many and asks for nothing keeps nobody out. Where something is under way on all of them, new ones are closed unread.
 */
export function boundConnections(server: Server, maxConnections: number): void {
  server.maxConnections = maxConnections;
  /** On which nothing is under way, those first on which it has been so for the longest time. */
  const idle = new Set<Socket>();
  const underWay = new WeakMap<Socket, number>();
  let open = 0;
  const begin = ({ socket }: IncomingMessage, response: ServerResponse) => {
    idle.delete(socket);
    underWay.set(socket, (underWay.get(socket) ?? 0) + 1);
    response.once('close', () => {
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
    });
    if (open < maxConnections) return;
    const oldest = idle.values().find(isHttp);
    if (oldest !== socket) oldest?.destroy();
  });
}

/** Node takes its parser from one that has become a tunnel. */
function isHttp(socket: Socket): boolean {
  return Boolean(Reflect.get(socket, 'parser'));
}
