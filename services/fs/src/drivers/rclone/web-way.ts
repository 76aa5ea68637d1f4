import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { pipeline } from 'node:stream/promises';

import { AppError } from '@wharf/errors';
import { boundAnswer, closeTogether, createPlainServer } from '@wharf/pace';
import { answerOf } from './answer-of.ts';

/** The proxy by which rclone reaches servers that speak HTTP. */
export interface WebWay {
  readonly port: number;
  /** Ends all connections. Safe twice. */
  close(): void;
}

/** Makes a connection that the policy allows. @throws AppError */
export type ConnectTo = (host: string, port: number, signal: AbortSignal) => Promise<Socket>;

type Reach = (host: string, port: number) => Promise<Socket>;

/** They concern the connection to us alone (RFC 9110, 7.6.1). */
const OF_THE_HOP = [
  'connection',
  'proxy-connection',
  'keep-alive',
  'proxy-authorization',
  'proxy-authenticate',
  'te',
  'trailer',
  'upgrade',
];

/**
 * Opens a port on loopback by which HTTP and HTTPS go where the policy allows, each connection asked for when it is made, whatever name it was asked for
 * by. It asks for no password: rclone reads where it is from its environment, where others could read that too, and whoever is on this machine
 * reaches the network without it.
 */
export async function openWebWay(connect: ConnectTo): Promise<WebWay> {
  const closing = new AbortController();
  const open = new Set<Duplex>();
  const keep = (socket: Duplex) => {
    open.add(socket);
    socket.once('close', () => open.delete(socket)).on('error', () => undefined);
  };
  const connectKept: Reach = async (host, port) => {
    const socket = await connect(host, port, closing.signal);
    keep(socket);
    return socket;
  };
  const server = createPlainServer((request, response) => {
    forward(request, response, connectKept).catch((error: unknown) => {
      if (response.headersSent) response.destroy();
      else response.writeHead(statusOf(error), { Connection: 'close', 'Content-Length': 0 }).end();
    });
  });
  server.requestTimeout = 0;
  server.on('connection', keep);
  server.on('connect', async (request: http.IncomingMessage, client: Socket, head: Buffer) => {
    keep(client);
    try {
      const target = URL.parse(`http://${request.url ?? ''}`);
      const port = Number(/:(\d{1,5})$/.exec(request.url ?? '')?.[1] ?? 0);
      if (!target || port === 0) throw new AppError('INVALID_ARGUMENT', 'not an address');
      const outer = await connectKept(bareHost(target), port);
      closeTogether(client, outer);
      if (client.destroyed || closing.signal.aborted) return void outer.destroy();
      client.write('HTTP/1.1 200 Connection established\r\n\r\n');
      outer.write(head);
      client.pipe(outer).pipe(client);
    } catch (error) {
      const status = statusOf(error);
      client.end(`HTTP/1.1 ${status} ${http.STATUS_CODES[status]}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  // Such as that no file handle is left for a connection: the next one may have one.
  server.on('error', () => undefined);
  server.unref();
  return {
    port: (server.address() as AddressInfo).port,
    close() {
      closing.abort();
      server.close();
      for (const socket of open) socket.destroy();
    },
  };
}

/** Plain HTTP comes with the whole address. One connection for each request. */
async function forward(request: http.IncomingMessage, response: http.ServerResponse, connect: Reach): Promise<void> {
  const url = URL.parse(request.url ?? '');
  if (url?.protocol !== 'http:') throw new AppError('INVALID_ARGUMENT', 'not an address');
  const socket = await connect(bareHost(url), Number(url.port || 80));
  const dropped = new Set([...OF_THE_HOP, ...(request.headers.connection ?? '').split(',').map((name) => name.trim().toLowerCase())]);
  const passed = (raw: readonly string[]) => raw.filter((_, index) => !dropped.has((raw[index - (index % 2)] ?? '').toLowerCase()));
  const { 'content-length': length, 'transfer-encoding': encoding } = request.headers;
  const hasBody = length !== undefined || encoding !== undefined;
  const outer = http.request({
    createConnection: () => socket,
    method: request.method,
    path: `${url.pathname}${url.search}`,
    headers: [...passed(request.rawHeaders), 'Connection', 'close', ...(hasBody ? [] : ['Content-Length', '0'])],
  });
  let refusal: AppError | undefined;
  boundAnswer(outer, url, (error) => {
    refusal = error;
  });
  const answered = answerOf(outer);
  // Whoever asked may have gone while the connection was made.
  if (response.destroyed) outer.destroy();
  response.once('close', () => outer.destroy());
  if (hasBody) request.pipe(outer);
  else outer.end();
  const answer = await answered;
  if (refusal) throw refusal;
  // What breaks off must break off there too.
  answer.once('aborted', () => response.destroy());
  try {
    // Node's server throws for some of what its client takes, as for a status of 99.
    response.writeHead(answer.statusCode ?? 502, passed(answer.rawHeaders));
    await pipeline(answer, response);
  } finally {
    outer.destroy();
  }
}

function bareHost(url: URL): string {
  return url.hostname.replace(/^\[(.*)\]$/, '$1');
}

function statusOf(error: unknown): number {
  if (AppError.is(error, 'PERMISSION_DENIED')) return 403;
  return AppError.is(error, 'INVALID_ARGUMENT') ? 400 : 502;
}
