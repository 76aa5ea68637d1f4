import http, { type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { boundConnections } from './bound-connections.ts';
import { cutOff } from './cut-off.ts';

/** Requests of one connection that may be begun and not answered. A client that waits for its answers has two for a moment. */
const MAX_BEGUN = 16;
/** Connections of such a port at a time: each takes a handle of its process, a tunnel two. Programs that use it have some hundred. */
const MAX_CONNECTIONS = 1_000;

/**
 * An HTTP server for programs that wait for each answer: a connection on which many requests are sent ahead is ended, and what came with them is not read.
 * What Node would refuse by itself, out of turn, counts among them.
 */
export function createPlainServer(listener: RequestListener): Server {
  const begun = new WeakMap<Socket, number>();
  const take = (status: number | undefined) => (request: IncomingMessage, response: ServerResponse) => {
    const { socket } = request;
    const before = begun.get(socket) ?? 0;
    if (before >= MAX_BEGUN) {
      cutOff(socket);
      return;
    }
    begun.set(socket, before + 1);
    response.once('close', () => begun.set(socket, (begun.get(socket) ?? 1) - 1));
    if (status === undefined && (request.headers.host !== undefined || request.httpVersion !== '1.1')) listener(request, response);
    else response.writeHead(status ?? 400, { Connection: 'close', 'Content-Length': 0 }).end();
  };
  const server = http.createServer({ requireHostHeader: false }, take(undefined)).on('checkExpectation', take(417));
  boundConnections(server, MAX_CONNECTIONS);
  return server;
}
