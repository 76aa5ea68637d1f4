import { readFileSync } from 'node:fs';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { getHeapStatistics } from 'node:v8';
import { boundConnections, pacePieces } from '@wharf/pace';
import { plainAddress } from '../http/plain-address.ts';
import { type ConnectionShare, shareConnections } from './connection-share.ts';
import { holdReading } from './hold-reading.ts';
import { IdentifiedResponse } from './identified-response.ts';
import { refuseAmbiguous } from './refuse-ambiguous.ts';
import { refuseMalformed } from './refuse-malformed.ts';
import { serveInTurn } from './serve-in-turn.ts';

/** Time for a client to send its request's headers, in milliseconds; bodies may take as long as they keep coming. */
const HEADERS_TIMEOUT_MS = 30_000;
/** Longer than the usual idle time of a load balancer (60 s), so that it is the balancer that closes. */
const KEEP_ALIVE_MS = 65_000;
/** Room for a path of 4 KiB, percent-encoded, beside the other headers. */
const MAX_HEADER_BYTES = 32 * 1024;
/** Headers of a request. Browsers and the proxies before us send some forty; each takes more memory than it has letters. */
const MAX_HEADERS = 200;
/** What a gateway adds to the headers of a client, at most: whose request it is. Ports that gateways ask take so much more. */
const ADDED = { headers: 32, bytes: 16 * 1024 };

/** Connections of one port at a time, where the system lets the process have more. */
const MAX_CONNECTIONS = 10_000;
/** The share of the process's file handles that clients of one port may take: storages and the store need some, too. */
const HANDLE_SHARES = 2;
/**
 * Heap for each connection, in bytes, whoever reaches the port. One takes 65 KiB at most before anybody looks at what it says: a head of MAX_HEADER_BYTES in
 * MAX_HEADERS texts, and a short one behind it; half as much again where a gateway adds some. The rest is for all else that a process does.
 */
const HEAP_BYTES = 192 * 1024;

export interface HttpListener {
  readonly port: number;
  readonly url: string;
  /** From now on every answer ends its connection, so that clients look for somebody else. New connections are still answered. */
  drain(): void;
  /** Takes no new request, waits for those under way, and cuts them off after `graceMs` milliseconds. */
  stop(graceMs: number): Promise<void>;
}

/**
 * Listens on one port, which takes `maxConnections`.
 *
 * @param options.share of a port that strangers reach: what one of them may have. Others take the headers of a request that a gateway hands on
 * @throws the system's error when the port is taken
 */
export async function listenHttp(
  handler: http.RequestListener,
  host: string,
  port: number,
  { share, maxConnections = maxConnectionsOfPort() }: { share?: ConnectionShare | undefined; maxConnections?: number } = {},
): Promise<HttpListener> {
  const maxHeaders = MAX_HEADERS + (share ? 0 : ADDED.headers);
  let isDraining = false;
  const take: http.RequestListener = (request, response) => {
    const onFlood = onFloodOf(request);
    pacePieces(request, onFlood);
    const begin = () => {
      if (isDraining) response.shouldKeepAlive = false;
      if (!refuseAmbiguous(request, response, maxHeaders)) handler(request, response);
    };
    serveInTurn(request, response, begin, onFlood);
  };
  const server = http.createServer(
    {
      maxHeaderSize: MAX_HEADER_BYTES + (share ? 0 : ADDED.bytes),
      headersTimeout: HEADERS_TIMEOUT_MS,
      requestTimeout: 0,
      // What Node refuses by itself it answers out of turn, however many there are: we refuse it.
      requireHostHeader: false,
      ServerResponse: IdentifiedResponse,
    },
    take,
  );
  server.on('checkExpectation', take);
  const onFloodOf = holdReading(server);
  server.keepAliveTimeout = KEEP_ALIVE_MS;
  // One more is kept than is taken, so that a request with too many is known for it.
  server.maxHeadersCount = maxHeaders + 1;
  if (share) server.on('connection', shareConnections(share, maxConnections));
  boundConnections(server, maxConnections, {
    endsLateBodies: true,
    // Where no share is said, only our own processes come.
    clientOf: ({ remoteAddress = '' }) => (!share || share.isProxy(remoteAddress) ? undefined : plainAddress(remoteAddress)),
  });
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

/** What a port of this process takes where nothing else is said. */
export function maxConnectionsOfPort(): number {
  return connectionsOfPort(fileHandles(), getHeapStatistics().heap_size_limit);
}

/** @internal for its test */
export function connectionsOfPort(handles: number, heapBytes: number): number {
  return Math.min(MAX_CONNECTIONS, Math.floor(handles / HANDLE_SHARES), Math.floor(heapBytes / HEAP_BYTES));
}

/** How many files and sockets the system lets this process have open; where it does not say, as many as anybody needs. */
function fileHandles(): number {
  try {
    return Number(/^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1] ?? Number.POSITIVE_INFINITY);
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}
