import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { AppError } from '@wharf/errors';
import { Connection, MAX_PAYLOAD_BYTES, type Subscriber } from './connection.ts';
import { createRouter } from './router.ts';

/** Version of the protocol this server is compatible with: clients choose their features by it. */
const PROTOCOL_VERSION = '2.9.0';
const MAX_CONNECTIONS = 1024;
/** Connections that have not logged in; of more the oldest ends, so that they keep no client out. @internal exported for its test */
export const MAX_STRANGERS = 100;

export interface EmbeddedNatsOptions {
  /** Default 127.0.0.1; nothing but loopback is offered. */
  host?: '127.0.0.1' | '::1';
  /** 0 or absent: the kernel chooses one. */
  port?: number;
  /** What clients must present, so that other users of this machine cannot join; default: 256 random bits. */
  token?: string;
  /** How often each client is asked for a sign of life, default 30,000. The third time without an answer it is dropped. */
  keepAliveMs?: number;
  /** A client that lets more than this wait for it is dropped, default 16 MiB. */
  maxPendingBytes?: number;
}

export interface EmbeddedNats {
  /** `nats://127.0.0.1:<port>`, without the token. */
  readonly url: string;
  readonly token: string;
  /** Closes all connections and the listener; what was delivered by then is sent. Safe to call twice. */
  stop(): Promise<void>;
}

/**
 * Starts a NATS server for one machine: the core protocol with headers, queue groups and no-responders; no accounts, clusters, JetStream or TLS.
 *
 * Rejects with the error of listen(2), and with INVALID_ARGUMENT for an empty token.
 */
export async function startEmbeddedNats(options: EmbeddedNatsOptions = {}): Promise<EmbeddedNats> {
  const { host = '127.0.0.1', port = 0, keepAliveMs = 30_000, maxPendingBytes = 16 * 1024 * 1024 } = options;
  const token = options.token ?? randomBytes(32).toString('base64url');
  if (token === '') throw new AppError('INVALID_ARGUMENT', 'the token of the embedded bus is empty');
  const router = createRouter<Subscriber>();
  const connections = new Set<Connection>();
  const serverId = randomBytes(8).toString('hex');
  const server = createServer((socket) => {
    const info = {
      server_id: serverId,
      server_name: 'wharf-embedded-nats',
      version: PROTOCOL_VERSION,
      proto: 1,
      host,
      port: socket.localPort,
      headers: true,
      auth_required: true,
      max_payload: MAX_PAYLOAD_BYTES,
    };
    const connection = new Connection({ socket, router, info, token, maxPendingBytes });
    connections.add(connection);
    const strangers = [...connections].filter(({ isLoggedIn }) => !isLoggedIn);
    if (strangers.length > MAX_STRANGERS) strangers[0]?.destroy();
    socket.once('close', () => connections.delete(connection));
  });
  server.maxConnections = MAX_CONNECTIONS;
  server.listen(port, host);
  await once(server, 'listening');
  const timer = setInterval(() => {
    for (const connection of connections) connection.keepAlive();
  }, keepAliveMs);
  const address = server.address();
  if (address === null || typeof address === 'string') throw new AppError('INTERNAL', 'the embedded bus has no address');
  let stopped: Promise<void> | undefined;
  return {
    url: `nats://${host === '::1' ? '[::1]' : host}:${address.port}`,
    token,
    stop() {
      stopped ??= new Promise((resolve) => {
        clearInterval(timer);
        server.close(() => resolve());
        for (const connection of connections) connection.close();
      });
      return stopped;
    },
  };
}
