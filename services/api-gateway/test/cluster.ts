import { join } from 'node:path';
import { createAuthService } from '@wharf/auth';
import { startEmbeddedMongo } from '@wharf/embedded-mongo';
import { startEmbeddedNats } from '@wharf/embedded-nats';
import { httpRequest, makeTempDir, waitFor } from '@wharf/harness';
import { type AuthServiceClient, AuthServiceDefinition } from '@wharf/proto/auth';
import {
  connectStore,
  createDirectClient,
  createNatsBus,
  createServiceKit,
  type InternalTokens,
  listenHttp,
  type RpcService,
  Secret,
  type ServiceKit,
} from '@wharf/service-kit';
import { pino } from 'pino';
import { createGatewayService } from '../src/index.ts';
import { SECRET } from './gateway.ts';
import { createStubServices } from './stub-services.ts';

export const ADMIN_PASSWORD = 'the password of the admin';

interface Answer {
  readonly code: number;
  readonly message: string;
  readonly data: unknown;
}

/** A gateway and the replica of auth that it calls. */
export interface Pair {
  readonly kit: ServiceKit;
  /** @param address where the request seems to come from. Without a body it is a GET. */
  ask(path: string, options?: { token?: string; body?: unknown; address?: string }): Promise<Answer>;
}

export interface Cluster {
  readonly pairs: readonly [Pair, Pair];
  /** Everything that was logged. */
  log(): string;
  /** Ends the bus for good. */
  stopBus(): Promise<void>;
  close(): Promise<void>;
}

/** Two gateways and two replicas of auth on one store and one bus, each with a connection of its own. */
export async function openCluster(): Promise<Cluster> {
  const dir = await makeTempDir('cluster');
  const embedded = await startEmbeddedMongo({ dataDir: join(dir.path, 'store') });
  const nats = await startEmbeddedNats();
  const closing: Array<() => Promise<void>> = [];
  let log = '';

  const openKit = async (name: string, auth: (tokens: InternalTokens) => AuthServiceClient): Promise<ServiceKit> => {
    const write = (line: string) => {
      log += line;
    };
    const logger = pino({ level: 'trace' }, { write });
    const store = await connectStore(embedded.url);
    const bus = createNatsBus(nats.url.replace('//', `//${nats.token}@`), name, (error) => logger.warn({ err: error }));
    await waitFor('the bus', () => bus.isConnected());
    const stubs = createStubServices();
    const peers = (tokens: InternalTokens) => ({ ...stubs.peers(tokens), auth: auth(tokens) });
    closing.push(async () => {
      await bus.close();
      await store.close();
    });
    return createServiceKit({ name, logger, secret: new Secret(SECRET), store, bus, peers });
  };
  const openPair = async (): Promise<Pair> => {
    let rpc: RpcService | undefined;
    const auth = (tokens: InternalTokens) =>
      createDirectClient<AuthServiceClient>(
        AuthServiceDefinition,
        () => {
          if (!rpc) throw new Error('auth is not there yet');
          return rpc;
        },
        tokens,
        (error) => {
          log += String(error);
        },
      );
    const authKit = await openKit('auth', auth);
    const authService = createAuthService({ adminPassword: new Secret(ADMIN_PASSWORD), tokenHours: 48 }, authKit);
    rpc = authService.rpc;
    await authService.start();
    const kit = await openKit('api-gateway', auth);
    const gateway = createGatewayService(
      { siteUrl: undefined, trustedProxies: ['127.0.0.1'], corsOrigins: [], callsPerUser: 64, connectionsPerAddress: 1_000 },
      kit,
      {
        bytes: (_request, response) => response.end('bytes'),
      },
    );
    await gateway.start();
    if (!gateway.http) throw new Error('the gateway has no HTTP');
    const listener = await listenHttp(gateway.http, '127.0.0.1', 0);
    closing.unshift(async () => {
      await listener.stop(1_000);
      await gateway.stop();
      await authService.stop();
    });
    return {
      kit,
      async ask(path, { token = '', body, address = '192.0.2.1' } = {}) {
        const headers = { Authorization: token, 'Content-Type': 'application/json', 'X-Forwarded-For': address };
        const answer = await httpRequest(listener.url, {
          path,
          method: body === undefined ? 'GET' : 'POST',
          headers,
          ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        });
        return JSON.parse(answer.text());
      },
    };
  };

  const pairs = [await openPair(), await openPair()] as const;
  return {
    pairs,
    log: () => log,
    stopBus: () => nats.stop(),
    async close() {
      for (const close of closing) await close();
      await nats.stop();
      await embedded.stop();
      await dir.remove();
    },
  };
}
