import { randomBytes } from 'node:crypto';
import { runCommand } from '@wharf/harness';
import {
  createInternalTokens,
  deriveKeys,
  type Identity,
  type InternalTokens,
  NO_TRACING,
  outgoingCall,
  type RpcDefinition,
  Secret,
} from '@wharf/service-kit';
import { createGrpcPeers } from '@wharf/service-kit/grpc';
import type { StartedTestContainer } from 'testcontainers';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { PROVIDERS, type Provider } from '../support/contracts.ts';
import { type ServiceContainers, startServiceContainers } from '../support/service-containers.ts';

const SECRET = randomBytes(32).toString('hex');
const ADMIN: Identity = { kind: 'user', id: 1, username: 'admin', role: 2, permission: 0xffff, basePath: '/', sessionId: '' };
/** What calls that only read may take where the service stands still, in milliseconds. */
const DEADLINE_MS = 2_000;
/** Nobody is there. */
const NOWHERE = 'nowhere.invalid:1';

/** Each service, alone, with something that it answers by itself. */
const SERVICES: [service: Provider, client: string, method: string][] = [
  ['auth', 'auth', 'listUsers'],
  ['admin', 'admin', 'listStorages'],
  ['fs', 'fs', 'listDrivers'],
  ['downloader', 'downloader', 'listTools'],
];

let containers: ServiceContainers;
beforeAll(async () => {
  containers = await startServiceContainers();
}, 300_000);
afterAll(() => containers?.stop());

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

describe.each(SERVICES)('the image of %s alone', (service, answering, asked) => {
  const { port, contracts } = PROVIDERS[service];
  const own = createInternalTokens(deriveKeys(new Secret(SECRET)).internal, Date.now);
  /** As somebody signs who has another secret, and as tokens are signed that are not meant for services. */
  const foreign = createInternalTokens(randomBytes(32), Date.now);
  const otherAudience = createInternalTokens(deriveKeys(new Secret(SECRET)).jwt, Date.now);
  const methods = Object.entries<RpcDefinition>(contracts).flatMap(([client, { name, methods: all }]) =>
    Object.entries(all).map(([method, { options }]) => ({
      client,
      method,
      name: `${name}.${method}`,
      reads: options.idempotencyLevel === 'NO_SIDE_EFFECTS',
    })),
  );
  const calls = methods.map(({ name, client, method }): [name: string, client: string, method: string] => [name, client, method]);
  let container: StartedTestContainer;
  let connection: ReturnType<typeof createGrpcPeers>;
  let addresses: Parameters<typeof createGrpcPeers>[0];

  beforeAll(async () => {
    container = await containers.start(service, 'contract', {
      ...{
        WHARF_SECRET: SECRET,
        WHARF_AUTH_ADDR: NOWHERE,
        WHARF_ADMIN_ADDR: NOWHERE,
        WHARF_FS_ADDR: NOWHERE,
        WHARF_DOWNLOADER_ADDR: NOWHERE,
      },
    });
    const address = `${containers.addressOf(container)}:${port}`;
    addresses = { authAddress: address, adminAddress: address, fsAddress: address, downloaderAddress: address };
    connection = createGrpcPeers(addresses, { tracing: NO_TRACING, onBroken: undefined });
  }, 120_000);
  afterAll(async () => {
    connection?.close();
    await container?.stop({ timeout: 10_000 });
  });

  const callOf = ({ peers }: typeof connection, client: string, method: string, request: unknown, options: object) =>
    outcome(() => (Reflect.get(Reflect.get(peers, client), method) as AnyCall)(request, options));
  const call = (client: string, method: string, request: unknown, options: object) => callOf(connection, client, method, request, options);
  const as = (tokens: InternalTokens, identity: Identity | undefined, signal?: AbortSignal) =>
    outgoingCall(tokens, { identity, requestId: 'contract', revisions: { auth: 0, admin: 0 }, ...(signal && { signal }) });
  const answers = () => call(answering, asked, {}, as(own, ADMIN));

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

  // One with streams that calls share, as services have them, and one where each call has its own.
  test.each([
    ['alone', undefined],
    ['on shared streams', () => undefined],
  ])('calls %s that only read end at their deadline while the service stands still, and are answered after it', async (_how, onBroken) => {
    const hasty = createGrpcPeers(addresses, { tracing: NO_TRACING, onBroken, readDeadlineMs: DEADLINE_MS });
    try {
      expect(await callOf(hasty, answering, asked, {}, as(own, ADMIN))).toBe('ok');
      await runCommand(containers.docker, ['pause', container.getId()]);
      const reading = methods.filter(({ reads }) => reads);
      expect(reading.length).toBeGreaterThan(0);
      const codes = await Promise.all(reading.map(({ client, method }) => callOf(hasty, client, method, {}, as(own, ADMIN))));
      expect(Object.fromEntries(reading.map(({ name }, index) => [name, codes[index]]))).toEqual(
        Object.fromEntries(reading.map(({ name }) => [name, 'DEADLINE_EXCEEDED'])),
      );
      await runCommand(containers.docker, ['unpause', container.getId()]);
      await expect.poll(() => callOf(hasty, answering, asked, {}, as(own, ADMIN)), { timeout: 20_000 }).toBe('ok');
    } finally {
      hasty.close();
      // Where it failed before, the tests that follow have theirs.
      await runCommand(containers.docker, ['unpause', container.getId()]);
    }
  });

  test('answers by itself, also when its peers are away, and after all that', async () => {
    expect(await answers()).toBe('ok');
  });

  test('is ready, then ends with 0 when it is told to', async () => {
    const probe = await container.exec(['node', 'healthcheck.mjs']);
    expect(probe.exitCode).toBe(0);
    await container.stop({ timeout: 10_000, remove: false });
    const { stdout } = await runCommand(containers.docker, ['inspect', '--format', '{{.State.ExitCode}}', container.getId()]);
    expect(stdout.trim()).toBe('0');
  });
});
