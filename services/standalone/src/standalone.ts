import { join } from 'node:path';
import { startEmbeddedMongo } from '@wharf/embedded-mongo';
import { AdminServiceDefinition } from '@wharf/proto/admin';
import { AuthServiceDefinition } from '@wharf/proto/auth';
import { DownloaderServiceDefinition } from '@wharf/proto/downloader';
import { FsServiceDefinition } from '@wharf/proto/fs';
import { WriteServiceDefinition } from '@wharf/proto/fs-write';
import { TaskServiceDefinition } from '@wharf/proto/task';
import {
  connectStore,
  createBusErrors,
  createDirectClient,
  createLocalBus,
  createNatsBus,
  createServiceKit,
  followStoreClock,
  type InternalTokens,
  KEPT_FOR,
  kitFor,
  type Logger,
  listenHttp,
  openDataDir,
  opsHandler,
  type Peers,
  prepareStore,
  type RpcDefinition,
  type RpcService,
  requireOwnSecret,
  type Service,
  type Tracing,
} from '@wharf/service-kit';
import { type Arguments, readArguments } from './arguments.ts';
import { tellBackup } from './backup.ts';
import type { readStandaloneConfig } from './config.ts';

/** How long requests under way may take when we stop, in milliseconds. */
const STOP_GRACE_MS = 5_000;

const HELD = 'this data folder is a backup: tasks that had not ended when it was made are paused; resume or cancel them';

/** What the arguments ask for: a backup, or Wharf until it is stopped. */
export async function runStandalone(
  config: ReturnType<typeof readStandaloneConfig>,
  logger: Logger,
  tracing: Tracing,
): Promise<(() => Promise<void>) | undefined> {
  const given = await readArguments(config.argv);
  if (given.backupFile === undefined) return startStandalone(config, given, logger, tracing);
  process.stdout.write(`${await tellBackup(config, given.backupFile)}\n`);
  return undefined;
}

/** All services in one process: they call each other directly, over the same generated interfaces as anywhere else. */
async function startStandalone(
  config: ReturnType<typeof readStandaloneConfig>,
  given: Arguments,
  logger: Logger,
  tracing: Tracing,
): Promise<() => Promise<void>> {
  const dataDir = await openDataDir(config.dataDir, config.secret, { storeUrl: config.mongoUrl, newSecret: given.newSecret });
  // The store starts in its own thread while this one loads the services.
  const embedding =
    config.mongoUrl === undefined
      ? startEmbeddedMongo({ dataDir: dataDir.storeDir, copyAs: dataDir.copyAs, keptFor: KEPT_FOR })
      : undefined;
  const [
    { createAdminService },
    { createGatewayService },
    { createAuthService },
    { createDownloaderService },
    { createFsService },
    embedded,
  ] = await Promise.all([
    import('@wharf/admin'),
    import('@wharf/api-gateway'),
    import('@wharf/auth'),
    import('@wharf/downloader'),
    import('@wharf/fs'),
    embedding,
  ]);
  // Without its store nothing can be acknowledged any more: the process ends, and whatever watches it starts it again.
  void embedded?.failed.then((error) => {
    throw error;
  });
  const { store, storeId, clock } = await openStore(config, given, embedded, dataDir, logger);
  const onBusError = createBusErrors(logger, Date.now);
  const bus = config.natsUrl === undefined ? createLocalBus(onBusError) : createNatsBus(config.natsUrl, 'wharf', onBusError);

  const onUnforeseen = (error: unknown, method: string) => logger.error({ err: error, method }, 'unforeseen error');
  const peers = (tokens: InternalTokens): Peers => {
    const client = <Client>(definition: RpcDefinition, service: () => RpcService) =>
      createDirectClient<Client>(definition, service, tokens, onUnforeseen, tracing);
    return {
      auth: client(AuthServiceDefinition, () => rpcOf(auth)),
      admin: client(AdminServiceDefinition, () => rpcOf(admin)),
      fs: client(FsServiceDefinition, () => rpcOf(fs)),
      fsWrites: client(WriteServiceDefinition, () => furtherOf(fs, WriteServiceDefinition.fullName)),
      downloader: client(DownloaderServiceDefinition, () => rpcOf(downloader)),
      fsTasks: client(TaskServiceDefinition, () => furtherOf(fs, TaskServiceDefinition.fullName)),
      downloaderTasks: client(TaskServiceDefinition, () => furtherOf(downloader, TaskServiceDefinition.fullName)),
    };
  };
  const kit = createServiceKit({ name: 'wharf', logger, secret: dataDir.secret, store, bus, tracing, clock: clock?.now, peers });
  const auth = createAuthService({ ...config, resetAdminPassword: given.resetAdminPassword }, kitFor(kit, 'auth'));
  const admin = createAdminService({ filesDir: config.filesDir, mounts: given.mounts }, kitFor(kit, 'admin'));
  const engines = [
    ...(embedded === undefined ? [] : [embedded.url]),
    placeOf(config.httpHost, config.httpPort),
    ...(config.opsPort === undefined ? [] : [placeOf(config.bind, config.opsPort)]),
  ];
  const fs = createFsService(
    { ...config, dataDir: dataDir.path, searchDir: join(dataDir.path, 'search'), isAlone: true, engines },
    kitFor(kit, 'fs'),
  );
  const scratchDir = join(dataDir.path, 'scratch');
  const toolsDir = config.toolsDir ?? join(dataDir.path, 'downloads');
  const downloader = createDownloaderService(
    { ...config, dataDir: dataDir.path, scratchDir, toolsDir, engines },
    kitFor(kit, 'downloader'),
    {
      writeRange: ({ id }, ...range) => fs.writes.writeRange(id, ...range),
      writeWhole: ({ id }, ...whole) => fs.writes.writeWhole(id, ...whole),
      close() {},
    },
  );
  const gateway = createGatewayService(config, kitFor(kit, 'api-gateway'), { bytes: fs.bytes });
  const services = [auth, admin, fs, downloader, gateway];

  for (const service of services) await service.start();
  if (embedded !== undefined) await dataDir.keepStoreId(storeId);
  const http = await listenHttp(httpOf(gateway), config.httpHost, config.httpPort, { share: gateway.connectionShare });
  const ops =
    config.opsPort === undefined ? undefined : await listenHttp(opsHandler(kit.readiness, kit.metrics), config.bind, config.opsPort);
  logger.info({ url: http.url, opsUrl: ops?.url }, 'listening');
  // `tools/run.mjs` waits for this before it builds the page.
  process.send?.('listening');

  return async () => {
    kit.readiness.drain();
    await http.stop(STOP_GRACE_MS);
    for (const service of services.toReversed()) await service.stop();
    await bus.close();
    clock?.stop();
    await store.close();
    await embedded?.stop();
    await ops?.stop(0);
  };
}

const placeOf = (host: string, port: number) => `${host.includes(':') ? `[${host}]` : host}:${port}`;

function rpcOf({ rpc }: Service): RpcService {
  if (!rpc) throw new Error('this service offers no RPCs');
  return rpc;
}

function furtherOf({ furtherRpcs = [] }: Service, fullName: string): RpcService {
  const further = furtherRpcs.find(({ definition }) => definition.fullName === fullName);
  if (!further) throw new Error(`this service does not offer ${fullName}`);
  return further;
}

function httpOf({ http }: Service) {
  if (!http) throw new Error('this service offers no HTTP');
  return http;
}

/** Connects to the store and prepares it for this version. One elsewhere forgets logins and locks by its own time: that is ours then. */
async function openStore(
  config: ReturnType<typeof readStandaloneConfig>,
  { newSecret }: Arguments,
  embedded: Awaited<ReturnType<typeof startEmbeddedMongo>> | undefined,
  dataDir: Awaited<ReturnType<typeof openDataDir>>,
  logger: Logger,
) {
  const store = await connectStore(config.mongoUrl ?? embedded?.url ?? '');
  try {
    const storeId = await prepareStore(store, embedded && dataDir.note);
    await requireOwnSecret(store, dataDir.secret, { isLost: newSecret });
    if (embedded && dataDir.note.isBackup) {
      const { holdBackup } = await import('@wharf/task-engine');
      logger.warn({ paused: await holdBackup(store) }, HELD);
    }
    return { store, storeId, clock: embedded ? undefined : await followStoreClock(store, logger) };
  } catch (error) {
    // Closed in order, so that no file of a refused store is left beside the restored one.
    await store.close();
    await embedded?.stop();
    throw error;
  }
}
