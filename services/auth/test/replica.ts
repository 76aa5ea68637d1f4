import { join } from 'node:path';
import { type EmbeddedMongoOptions, startEmbeddedMongo } from '@wharf/embedded-mongo';
import { makeTempDir } from '@wharf/harness';
import { accountReads, type Models, modelsOf } from '@wharf/models';
import { AdminServiceDefinition } from '@wharf/proto/admin';
import { type AuthServiceClient, AuthServiceDefinition } from '@wharf/proto/auth';
import { DownloaderServiceDefinition } from '@wharf/proto/downloader';
import { FsServiceDefinition } from '@wharf/proto/fs';
import { WriteServiceDefinition } from '@wharf/proto/fs-write';
import { TaskServiceDefinition } from '@wharf/proto/task';
import { ROLE } from '@wharf/rights';
import {
  type AccountReads,
  type Callers,
  connectStore,
  createCallers,
  createDirectClient,
  createLocalBus,
  createLoginTokens,
  createServiceKit,
  type Identity,
  type InternalTokens,
  outgoingCall,
  Secret,
  type ServiceKit,
  type UserIdentity,
  unseal,
} from '@wharf/service-kit';
import { pino } from 'pino';
import { createAuthService } from '../src/index.ts';
import type { AuthOptions } from '../src/service.ts';

export const SECRET = 'a secret of the tests, 32 bytes or more';
export const ADMIN_PASSWORD = 'canary-admin-password';

/** One replica of auth over a store, and what a gateway would make of its tokens. */
export interface Replica {
  readonly auth: AuthServiceClient;
  readonly kit: ServiceKit;
  readonly models: Models;
  /** Establishes callers as a gateway that has just started would. */
  readonly callers: Callers;
  /** Call options of somebody; of the admin by default. */
  as(identity?: Identity): ReturnType<typeof outgoingCall>;
  /** How many passwords were verified so far. */
  verifications(): Promise<number>;
  /** All that was logged. */
  log(): string;
  /** Moves this replica's clock on. */
  advance(ms: number): void;
  /** Moves the agreed clock on, and not that of its machine. */
  part(ms: number): void;
  /** Safe twice. */
  close(): Promise<void>;
}

const STEP_MS = 30_000;

/** Moves the clocks of replicas on to the beginning of a step of two-step verification, so that a test does not run into the next one. */
export function alignToStep(...replicas: Replica[]): void {
  const now = replicas[0]?.kit.clock() ?? 0;
  for (const replica of replicas) replica.advance(STEP_MS - (now % STEP_MS));
}

export const ADMIN: UserIdentity = {
  kind: 'user',
  id: 1,
  username: 'admin',
  role: ROLE.admin,
  permission: 0xffff,
  basePath: '/',
  sessionId: '',
};

/** How the gateway hands a login on. */
export const fromGateway = (tokens: InternalTokens) =>
  outgoingCall(tokens, {
    identity: { kind: 'service', name: 'api-gateway' },
    requestId: 'test',
    revisions: { auth: 0, admin: 0 },
  });

const nobody = () => {
  throw new Error('auth calls nobody');
};

/** A store of a test file, and the replicas of auth over it. */
export interface Place {
  /** A folder that is there as long as the place. */
  readonly dir: string;
  /** @param config beside that of all replicas */
  open(config?: Pick<AuthOptions, 'resetAdminPassword'>): Promise<Replica>;
  /** Closes what is open, replicas too. */
  close(): Promise<void>;
}

/** @param limits of the store; absent: its own */
export async function openPlace(limits: Pick<EmbeddedMongoOptions, 'maxDocuments' | 'keptFor'> = {}): Promise<Place> {
  const dir = await makeTempDir('auth');
  const store = await startEmbeddedMongo({ dataDir: join(dir.path, 'store'), ...limits });
  const replicas: Replica[] = [];
  return {
    dir: dir.path,
    async open(config) {
      const replica = await openReplica(store.url, config);
      replicas.push(replica);
      return replica;
    },
    async close() {
      for (const replica of replicas) await replica.close();
      await store.stop();
      await dir.remove();
    },
  };
}

async function openReplica(storeUrl: string, config: Parameters<Place['open']>[0]): Promise<Replica> {
  let log = '';
  let offsetMs = 0;
  let partedMs = 0;
  let closed: Promise<void> | undefined;
  const machineClock = () => Date.now() + offsetMs;
  const clock = () => machineClock() + partedMs;
  const write = (line: string) => {
    log += line;
  };
  const logger = pino({ level: 'trace' }, { write });
  const onError = (error: unknown) => logger.error({ err: error });
  const store = await connectStore(storeUrl);
  const kit: ServiceKit = {
    ...createServiceKit({
      name: 'auth',
      logger,
      secret: new Secret(SECRET),
      store,
      bus: createLocalBus(onError),
      peers: (tokens) => ({
        auth: createDirectClient(AuthServiceDefinition, nobody, tokens, onError),
        admin: createDirectClient(AdminServiceDefinition, nobody, tokens, onError),
        fs: createDirectClient(FsServiceDefinition, nobody, tokens, onError),
        downloader: createDirectClient(DownloaderServiceDefinition, nobody, tokens, onError),
        fsTasks: createDirectClient(TaskServiceDefinition, nobody, tokens, onError),
        fsWrites: createDirectClient(WriteServiceDefinition, nobody, tokens, onError),
        downloaderTasks: createDirectClient(TaskServiceDefinition, nobody, tokens, onError),
      }),
    }),
    clock,
    machineClock,
  };
  const service = createAuthService({ adminPassword: new Secret(ADMIN_PASSWORD), tokenHours: 48, ...config }, kit);
  const { rpc } = service;
  if (!rpc) throw new Error('auth has no RPCs');
  await service.start();
  const models = modelsOf(store);
  const reads: AccountReads = accountReads(models, { unseal: (sealed) => unseal(kit.keys.atRest, sealed), clock });
  const client = createDirectClient<AuthServiceClient>(AuthServiceDefinition, () => rpc, kit.tokens, onError);
  return {
    auth: {
      ...client,
      login: (request, options = fromGateway(kit.tokens)) => client.login(request, options),
      loginWithHash: (request, options = fromGateway(kit.tokens)) => client.loginWithHash(request, options),
    },
    kit,
    models,
    // Each use is a new one, so that nothing is remembered between two questions.
    get callers() {
      return createCallers({ tokens: createLoginTokens(kit.keys.jwt, clock), reads, clock });
    },
    as: (identity = ADMIN) => outgoingCall(kit.tokens, { identity, requestId: 'test', revisions: { auth: 0, admin: 0 } }),
    async verifications() {
      const metric = await kit.metrics.getSingleMetric('wharf_auth_password_verifications_total')?.get();
      return metric?.values[0]?.value ?? 0;
    },
    log: () => log,
    advance(ms) {
      offsetMs += ms;
    },
    part(ms) {
      partedMs += ms;
    },
    close() {
      closed ??= (async () => {
        await service.stop();
        await kit.bus.close();
        await store.close();
      })();
      return closed;
    },
  };
}
