import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';

export interface HttpServer {
  /** `http://127.0.0.1:<port>`, or `https:`. */
  readonly url: string;
  readonly host: string;
  readonly port: number;
  /** How many requests came until now. */
  requests(): number;
  /** Closes it with all connections; safe to call twice. */
  stop(): Promise<void>;
}

/**
 * Starts an HTTP server on a port of loopback for answers that no honest server gives: a body that ends too early, redirects to anywhere. A handler
 * that throws breaks its connection.
 *
 * @param tls a key and its certificate, PEM: the server speaks HTTPS.
 */
export async function startHttpServer(
  handler: (request: IncomingMessage, response: ServerResponse) => void | Promise<void>,
  tls?: { key: string; cert: string },
): Promise<HttpServer> {
  let requests = 0;
  const answer = (request: IncomingMessage, response: ServerResponse) => {
    requests += 1;
    Promise.try(handler, request, response).catch(() => response.destroy());
  };
  const server = tls === undefined ? createServer(answer) : createTlsServer(tls, answer);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the server has no port');
  return {
    url: `${tls === undefined ? 'http' : 'https'}://127.0.0.1:${address.port}`,
    host: '127.0.0.1',
    port: address.port,
    requests: () => requests,
    async stop() {
      server.close();
      server.closeAllConnections();
    },
  };
}
