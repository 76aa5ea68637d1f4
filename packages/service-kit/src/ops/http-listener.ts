import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { IdentifiedResponse } from './identified-response.ts';
import { refuseMalformed } from './refuse-malformed.ts';

/** Time for a client to send its request's headers, in milliseconds; bodies may take as long as they keep coming. */
const HEADERS_TIMEOUT_MS = 30_000;
/** Longer than the usual idle time of a load balancer (60 s), so that it is the balancer that closes. */
const KEEP_ALIVE_MS = 65_000;
/** Room for a path of 4 KiB, percent-encoded, beside the other headers. */
const MAX_HEADER_BYTES = 32 * 1024;

export interface HttpListener {
  readonly port: number;
  readonly url: string;
  /** From now on every answer ends its connection, so that clients look for somebody else. New connections are still answered. */
  drain(): void;
  /** Takes no new request, waits for those under way, and cuts them off after `graceMs` milliseconds. */
  stop(graceMs: number): Promise<void>;
}

/** Listens on one port. @throws the system's error when the port is taken */
export async function listenHttp(handler: http.RequestListener, host: string, port: number): Promise<HttpListener> {
  let isDraining = false;
  const server = http.createServer(
    { maxHeaderSize: MAX_HEADER_BYTES, headersTimeout: HEADERS_TIMEOUT_MS, requestTimeout: 0, ServerResponse: IdentifiedResponse },
    (request, response) => {
      if (isDraining) response.shouldKeepAlive = false;
      handler(request, response);
    },
  );
  server.keepAliveTimeout = KEEP_ALIVE_MS;
  server.on('clientError', refuseMalformed);
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(port, host, resolve));
  const bound = (server.address() as AddressInfo).port;
  return {
    port: bound,
    url: `http://${host.includes(':') ? `[${host}]` : host}:${bound}`,
    drain() {
      isDraining = true;
    },
    async stop(graceMs) {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeIdleConnections();
      const force = setTimeout(() => server.closeAllConnections(), graceMs);
      await closed;
      clearTimeout(force);
    },
  };
}
