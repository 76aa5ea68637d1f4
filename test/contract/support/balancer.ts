import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { httpRequest } from '@wharf/harness';

export interface Backend {
  readonly host: string;
  readonly port: number;
  /** What it answers at `/readyz`: `http://host:port`. */
  readonly ops: string;
}

/** A plain TCP balancer without sticky sessions: each connection goes to the next backend that says it is ready. */
export interface Balancer {
  readonly url: string;
  stop(): Promise<void>;
}

const LOOK_MS = 200;
/** A busy machine is slow to answer, which says nothing about whether it is ready. */
const LOOK_TIMEOUT_MS = 5_000;

export async function startBalancer(backends: readonly Backend[]): Promise<Balancer> {
  const ready = new Map(backends.map((backend) => [backend, true]));
  const sockets = new Set<Socket>();
  let turn = 0;
  const asked = new Set<Backend>();
  const look = setInterval(() => {
    for (const backend of backends) {
      if (asked.has(backend)) continue;
      asked.add(backend);
      httpRequest(backend.ops, { path: '/readyz', idleTimeoutMs: LOOK_TIMEOUT_MS })
        .then(
          ({ status }) => ready.set(backend, status === 200),
          () => ready.set(backend, false),
        )
        .finally(() => asked.delete(backend));
    }
  }, LOOK_MS);
  const server: Server = createServer({ allowHalfOpen: true, noDelay: true }, (client) => {
    const up = backends.filter((backend) => ready.get(backend));
    turn += 1;
    const backend = up[turn % Math.max(1, up.length)];
    if (!backend) return void client.destroy();
    const upstream = connect({ host: backend.host, port: backend.port, allowHalfOpen: true, noDelay: true });
    for (const [one, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(one);
      one.once('close', () => {
        sockets.delete(one);
        other.destroySoon();
      });
      one.on('error', () => other.destroy());
      one.pipe(other);
    }
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const address = server.address();
  return {
    url: `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`,
    async stop() {
      clearInterval(look);
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}
