import { randomBytes, timingSafeEqual } from 'node:crypto';
import type http from 'node:http';
import net, { type AddressInfo, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { closeTogether, createPlainServer } from '@wharf/pace';
import type { EgressPolicy } from './egress-policy.ts';

/** A proxy for programs that open connections themselves: it lets them through to where the policy allows, and nowhere else. */
export interface GuardedProxy {
  readonly port: number;
  /** Whoever has no password is refused. */
  readonly username: string;
  readonly password: string;
  close(): Promise<void>;
}

const CONNECT_TIMEOUT_MS = 15_000;
/** A connection on which nothing moves is ended, in milliseconds. */
const IDLE_MS = 120_000;
/** How long a client may take a refusal, in milliseconds. */
const LINGER_MS = 5_000;
/** Connections that have not said the password; of more the oldest ends. Tools say it with their first request. @internal exported for its test */
export const MAX_UNPROVEN = 100;

/** Tunnels only (CONNECT), which HTTP and HTTPS can both go through. */
export async function startGuardedProxy(policy: EgressPolicy, host: string, port: number): Promise<GuardedProxy> {
  const username = 'wharf';
  const password = randomBytes(24).toString('base64url');
  const expected = Buffer.from(`Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`);
  const sockets = new Set<Duplex>();
  const server = createPlainServer((_request, response) => {
    response.writeHead(405, { Connection: 'close' }).end('only tunnels\n');
  });
  const answer = (client: Socket, head: string) => {
    client.setTimeout(LINGER_MS, () => client.destroy());
    client.end(`HTTP/1.1 ${head}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
  };
  const unproven = new Set<Socket>();
  server.on('connection', (client: Socket) => {
    unproven.add(client);
    client.once('close', () => unproven.delete(client));
    const [oldest] = unproven;
    if (unproven.size > MAX_UNPROVEN) oldest?.destroy();
  });

  server.on('connect', (request: http.IncomingMessage, client: Socket, head: Buffer) => {
    client.on('error', () => client.destroy());
    sockets.add(client);
    client.once('close', () => sockets.delete(client));
    const given = Buffer.from(request.headers['proxy-authorization'] ?? '');
    if (given.length !== expected.length || !timingSafeEqual(given, expected)) {
      answer(client, '407 Proxy Authentication Required\r\nProxy-Authenticate: Basic realm="wharf"');
      return;
    }
    unproven.delete(client);
    const target = URL.parse(`http://${request.url ?? ''}`);
    const targetPort = Number(/:(\d{1,5})$/.exec(request.url ?? '')?.[1] ?? 0);
    if (!target || targetPort === 0) return answer(client, '400 Bad Request');
    void tunnel(policy, client, head, target.hostname.replace(/^\[(.*)\]$/, '$1'), targetPort, sockets).catch(() =>
      answer(client, '403 Forbidden'),
    );
  });
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(port, host, resolve));
  return {
    port: (server.address() as AddressInfo).port,
    username,
    password,
    async close() {
      const closed = new Promise((resolve) => server.close(resolve));
      for (const socket of sockets) socket.destroy();
      server.closeAllConnections();
      await closed;
    },
  };
}

/** @throws what the policy says */
async function tunnel(policy: EgressPolicy, client: Socket, head: Buffer, host: string, port: number, sockets: Set<Duplex>): Promise<void> {
  const [address] = await policy.resolve(host, port);
  if (address === undefined) throw new Error('no address');
  // The address that was checked, not its name: the name could mean another one by now.
  const server: Socket = net.connect({ host: address, port, timeout: CONNECT_TIMEOUT_MS });
  sockets.add(server);
  server.once('close', () => sockets.delete(server));
  const abandon = () => server.destroy();
  client.once('close', abandon);
  server.on('timeout', () => server.destroy(new Error('nothing moves')));
  const fail = () => client.end('HTTP/1.1 502 Bad Gateway\r\nConnection: close\r\nContent-Length: 0\r\n\r\n');
  server.once('error', fail);
  server.once('connect', () => {
    // From here on what the client reads is the server's.
    server.off('error', fail).on('error', () => undefined);
    client.off('close', abandon);
    closeTogether(client, server);
    server.setTimeout(IDLE_MS);
    client.write('HTTP/1.1 200 Connection established\r\n\r\n');
    server.write(head);
    server.pipe(client);
    client.pipe(server);
  });
}
