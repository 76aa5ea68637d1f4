import { fileURLToPath } from 'node:url';
import { type EmbeddedMongo, startEmbeddedMongo } from '@wharf/embedded-mongo';
import { makeTempDir, type RunningProcess, startProcess, type TempDir } from '@wharf/harness';
import { accountReads, modelsOf } from '@wharf/models';
import { AuthServiceDefinition } from '@wharf/proto/auth';
import {
  connectStore,
  createCallers,
  createInternalTokens,
  createLoginTokens,
  deriveKeys,
  outgoingCall,
  Secret,
  unseal,
} from '@wharf/service-kit';
import { createChannel, createClient } from 'nice-grpc';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ADMIN, fromGateway, SECRET } from './replica.ts';

const MAIN = fileURLToPath(new URL('../src/main.ts', import.meta.url));
const PASSWORD_LINE = /^First start: log in as "admin" with the password ([A-HJ-NP-Za-km-np-z2-9]{16,}) /m;

const keys = deriveKeys(new Secret(SECRET));
let dir: TempDir;
let store: EmbeddedMongo;

beforeAll(async () => {
  dir = await makeTempDir('auth');
  store = await startEmbeddedMongo({ dataDir: dir.path });
});
afterAll(async () => {
  await store?.stop();
  await dir?.remove();
});

/** The process on a port of its own, with everything logged. Ready with its gRPC port. */
const startAuth = (): Promise<RunningProcess<number>> =>
  startProcess({
    name: 'auth',
    command: process.execPath,
    args: ['--disable-warning=ExperimentalWarning', MAIN],
    env: {
      PATH: process.env['PATH'],
      NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'],
      MONGO_URL: store.url,
      WHARF_SECRET: SECRET,
      WHARF_GRPC_PORT: '0',
      WHARF_OPS_PORT: '0',
      WHARF_DRAIN_SECONDS: '0',
      WHARF_LOG_LEVEL: 'trace',
    },
    ready: {
      line: (line) => (line.includes('"msg":"listening"') ? (JSON.parse(line) as { grpcPort: number }).grpcPort : undefined),
    },
  });

const clientOf = (port: number) => {
  const channel = createChannel(`127.0.0.1:${port}`);
  return { auth: createClient(AuthServiceDefinition, channel), close: () => channel.close() };
};

it('a real process prints the password of its first start once, keeps logins over restarts, and logs no secret', async () => {
  const options = () =>
    outgoingCall(createInternalTokens(keys.internal, Date.now), { identity: ADMIN, requestId: 'r', revisions: { auth: 0, admin: 0 } });
  const tokens = createInternalTokens(keys.internal, Date.now);
  const first = await startAuth();
  const password = PASSWORD_LINE.exec(first.output())?.[1] ?? '';
  expect(password.length).toBeGreaterThanOrEqual(16);
  const client = clientOf(first.ready);
  const { token } = await client.auth.login({ username: 'admin', password, address: '192.0.2.1' }, fromGateway(tokens));
  await expect(
    client.auth.login({ username: 'admin', password: 'canary-wrong', address: '192.0.2.1' }, fromGateway(tokens)),
  ).rejects.toMatchObject({
    details: 'Invalid username or password',
  });
  const permanent = (await client.auth.getPermanentToken({}, options())).token;
  await client.auth.createUser({ user: { username: 'alice', base_path: '/', password: 'canary-alice' } }, options());
  client.close();
  expect(await first.stop()).toEqual({ code: 0, signal: null });

  const second = await startAuth();
  const again = clientOf(second.ready);
  await again.auth.login({ username: 'admin', password, address: '192.0.2.1' }, fromGateway(tokens));
  await again.auth.login({ username: 'alice', password: 'canary-alice', address: '192.0.2.1' }, fromGateway(tokens));
  again.close();
  expect(await second.stop()).toEqual({ code: 0, signal: null });

  const connection = await connectStore(store.url);
  try {
    const reads = accountReads(modelsOf(connection), { unseal: (sealed) => unseal(keys.atRest, sealed), clock: Date.now });
    const callers = createCallers({ tokens: createLoginTokens(keys.jwt, Date.now), reads, clock: Date.now });
    expect((await callers.establish(token)).identity.username).toBe('admin');
  } finally {
    await connection.close();
  }

  const firstLog = first.output().split('\n');
  expect(firstLog.filter((line) => line.includes(password))).toEqual([expect.stringMatching(PASSWORD_LINE)]);
  for (const secret of [password, 'First start']) expect(second.output()).not.toContain(secret);
  for (const secret of [token, permanent, 'canary-', '$argon2id$', SECRET]) {
    expect(first.output()).not.toContain(secret);
    expect(second.output()).not.toContain(secret);
  }
});
