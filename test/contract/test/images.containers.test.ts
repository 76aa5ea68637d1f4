import { randomBytes } from 'node:crypto';
import { runCommand } from '@wharf/harness';
import { AdminServiceDefinition } from '@wharf/proto/admin';
import { AuthServiceDefinition } from '@wharf/proto/auth';
import { DownloaderServiceDefinition } from '@wharf/proto/downloader';
import { FsServiceDefinition } from '@wharf/proto/fs';
import { WriteServiceDefinition } from '@wharf/proto/fs-write';
import { TaskServiceDefinition } from '@wharf/proto/task';
import { createInternalTokens, deriveKeys, type Identity, type InternalTokens, NO_TRACING, outgoingCall, Secret } from '@wharf/service-kit';
import { createGrpcPeers } from '@wharf/service-kit/grpc';
import { GenericContainer, Network, type StartedNetwork, type StartedTestContainer, Wait } from 'testcontainers';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { prepareImages } from '../support/images.ts';

const SECRET = randomBytes(32).toString('hex');
const ADMIN: Identity = { kind: 'user', id: 1, username: 'admin', role: 2, permission: 0xffff, basePath: '/', sessionId: '' };
const LABELS = { 'wharf.test': 'containers' };
/** Nobody is there. */
const NOWHERE = 'nowhere.invalid:1';

/** Each service, alone: the port of its gRPC, which client is whose, and something that it answers by itself. */
const SERVICES = [
  { service: 'auth', port: 50_051, peers: { auth: AuthServiceDefinition }, asks: ['auth', 'listUsers', {}] },
  { service: 'admin', port: 50_052, peers: { admin: AdminServiceDefinition }, asks: ['admin', 'listStorages', {}] },
  {
    service: 'fs',
    port: 50_053,
    peers: { fs: FsServiceDefinition, fsWrites: WriteServiceDefinition, fsTasks: TaskServiceDefinition },
    asks: ['fs', 'listDrivers', {}],
  },
  {
    service: 'downloader',
    port: 50_054,
    peers: { downloader: DownloaderServiceDefinition, downloaderTasks: TaskServiceDefinition },
    asks: ['downloader', 'listTools', {}],
  },
] as const;

let network: StartedNetwork;
const engines: StartedTestContainer[] = [];
let natsUrl = '';
let storeUrl = '';
let docker = '';
const nameOf = (what: string) => `wharf-test-${what}`;

beforeAll(async () => {
  const images = await prepareImages();
  docker = images.docker;
  network = await new Network().start();
  const engine = (what: string, image: string, command: readonly string[]) =>
    new GenericContainer(image)
      .withName(nameOf(what))
      .withLabels(LABELS)
      .withNetworkMode(network.getName())
      .withEntrypoint([...command])
      .withWaitStrategy(Wait.forLogMessage(/Listening (for client connections|on TCP)/))
      .withStartupTimeout(90_000)
      .start();
  engines.push(
    await engine('store', images.store.image, images.store.command),
    await engine('bus', images.nats, ['nats-server', '--addr', '0.0.0.0']),
  );
  storeUrl = `mongodb://${nameOf('store')}:27017/contract`;
  natsUrl = `nats://${nameOf('bus')}:4222`;
}, 300_000);
afterAll(async () => {
  for (const engine of engines) await engine.stop({ timeout: 0 });
  await network?.stop();
});

function startService(service: string): Promise<StartedTestContainer> {
  return new GenericContainer(`wharf-${service}:test`)
    .withName(nameOf(service))
    .withLabels(LABELS)
    .withNetworkMode(network.getName())
    .withTmpFs({ '/tmp': '', '/data': 'uid=10001,gid=10001,size=16m' })
    .withEnvironment({
      ...{ WHARF_SECRET: SECRET, MONGO_URL: storeUrl, NATS_URL: natsUrl, WHARF_DRAIN_SECONDS: '0', WHARF_GRACE_SECONDS: '5' },
      ...{ WHARF_AUTH_ADDR: NOWHERE, WHARF_ADMIN_ADDR: NOWHERE, WHARF_FS_ADDR: NOWHERE, WHARF_DOWNLOADER_ADDR: NOWHERE },
    })
    .withWaitStrategy(Wait.forHealthCheck())
    .withStartupTimeout(90_000)
    .start();
}

type AnyCall = (request: unknown, options: object) => Promise<unknown> | AsyncIterable<unknown>;

/** What came of a call: `ok`, or the code of its error. */
async function outcome(call: () => Promise<unknown> | AsyncIterable<unknown>): Promise<string> {
  try {
    const answer = call();
    if (Symbol.asyncIterator in answer) for await (const _ of answer);
    else await answer;
    return 'ok';
  } catch (error) {
    return typeof error === 'object' && error !== null && 'code' in error ? String(error.code) : String(error);
  }
}

describe.each(SERVICES)('the image of $service alone', ({ service, port, peers, asks }) => {
  const own = createInternalTokens(deriveKeys(new Secret(SECRET)).internal, Date.now);
  /** As somebody signs who has another secret, and as tokens are signed that are not meant for services. */
  const foreign = createInternalTokens(randomBytes(32), Date.now);
  const otherAudience = createInternalTokens(deriveKeys(new Secret(SECRET)).jwt, Date.now);
  const calls: [name: string, client: string, method: string][] = Object.entries(peers).flatMap(([client, definition]) =>
    Object.keys(definition.methods).map((method): [string, string, string] => [`${definition.name}.${method}`, client, method]),
  );
  let container: StartedTestContainer;
  let connection: ReturnType<typeof createGrpcPeers>;

  beforeAll(async () => {
    container = await startService(service);
    const address = `${container.getIpAddress(network.getName())}:${port}`;
    connection = createGrpcPeers(
      { authAddress: address, adminAddress: address, fsAddress: address, downloaderAddress: address },
      { tracing: NO_TRACING, onBroken: undefined },
    );
  }, 120_000);
  afterAll(async () => {
    connection?.close();
    await container?.stop({ timeout: 10_000 });
  });

  const call = (client: string, method: string, request: unknown, options: object) =>
    outcome(() => (Reflect.get(Reflect.get(connection.peers, client), method) as AnyCall)(request, options));
  const as = (tokens: InternalTokens, identity: Identity | undefined, signal?: AbortSignal) =>
    outgoingCall(tokens, { identity, requestId: 'contract', revisions: { auth: 0, admin: 0 }, ...(signal && { signal }) });
  const answers = () => call(asks[0], asks[1], asks[2], as(own, ADMIN));

  test.each(calls)('%s is refused without a token, and with one of others', async (_name, client, method) => {
    expect(await call(client, method, {}, as(own, undefined))).toBe('UNAUTHENTICATED');
    expect(await call(client, method, {}, as(foreign, ADMIN)), 'another secret').toBe('UNAUTHENTICATED');
    expect(await call(client, method, {}, as(otherAudience, ADMIN)), 'another audience').toBe('UNAUTHENTICATED');
  });

  test.each(calls)('%s ends when its caller gives up', async (_name, client, method) => {
    expect(await call(client, method, {}, as(own, ADMIN, AbortSignal.abort()))).toMatch(/^(CANCELLED|20|AbortError.*)$/);
  });

  test.each(calls)('%s answers an empty request, or says by a declared error what is wrong with it', async (_name, client, method) => {
    const codes = [
      await call(client, method, {}, as(own, ADMIN)),
      await call(client, method, {}, as(own, { kind: 'service', name: 'admin' })),
    ];
    expect(codes).not.toContain('INTERNAL');
  });

  test('answers by itself, also when its peers are away, and after all that', async () => {
    expect(await answers()).toBe('ok');
  });

  test('is ready, then ends with 0 when it is told to', async () => {
    const probe = await container.exec(['node', 'healthcheck.mjs']);
    expect(probe.exitCode).toBe(0);
    await container.stop({ timeout: 10_000, remove: false });
    const { stdout } = await runCommand(docker, ['inspect', '--format', '{{.State.ExitCode}}', container.getId()]);
    expect(stdout.trim()).toBe('0');
  });
});
