import { mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type EmbeddedMongo, startEmbeddedMongo } from '@wharf/embedded-mongo';
import { makeTempDir, type RunningProcess, startProcess, type TempDir } from '@wharf/harness';
import { AdminServiceDefinition } from '@wharf/proto/admin';
import { createInternalTokens, deriveKeys, outgoingCall, Secret } from '@wharf/service-kit';
import { createChannel, createClient } from 'nice-grpc';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ADMIN, SECRET, setting, storage } from './replica.ts';

const MAIN = fileURLToPath(new URL('../src/main.ts', import.meta.url));
/** Nothing of ours listens there: peers are away. */
const NOBODY = '127.0.0.1:1';

let dir: TempDir;
let store: EmbeddedMongo;

beforeAll(async () => {
  dir = await makeTempDir('admin');
  store = await startEmbeddedMongo({ dataDir: await mkdtemp(join(dir.path, 'store-')) });
});
afterAll(async () => {
  await store?.stop();
  await dir?.remove();
});

const startAdmin = (): Promise<RunningProcess<number>> =>
  startProcess({
    name: 'admin',
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
      WHARF_FS_ADDR: NOBODY,
      WHARF_AUTH_ADDR: NOBODY,
      WHARF_FILES_DIR: join(dir.path, 'files'),
    },
    ready: {
      line: (line) => (line.includes('"msg":"listening"') ? (JSON.parse(line) as { grpcPort: number }).grpcPort : undefined),
    },
  });

it('a real process serves over gRPC while its peers are away, keeps everything over a restart, and logs no secret', async () => {
  const { internal } = deriveKeys(new Secret(SECRET));
  const as = () =>
    outgoingCall(createInternalTokens(internal, Date.now), { identity: ADMIN, requestId: 'r', revisions: { auth: 0, admin: 0 } });

  const first = await startAdmin();
  const channel = createChannel(`127.0.0.1:${first.ready}`);
  const admin = createClient(AdminServiceDefinition, channel);
  await admin.saveSettings({ items: [setting('site_title', 'Quay'), setting('rpcdl_secret', 'canary-secret')] }, as());
  const created = admin.createStorage({ storage: storage({ addition: '{"password":"canary-password"}' }) }, as());
  await expect(created).rejects.toMatchObject({
    details: 'failed init storage but storage is already created: failed init storage: a service cannot be reached',
  });
  await expect(admin.listSettings({ groups: [0] }, as())).rejects.toMatchObject({ details: 'a service cannot be reached' });
  await expect(admin.listStorages({})).rejects.toMatchObject({ details: 'the internal token is not valid' });
  channel.close();
  expect(await first.stop()).toEqual({ code: 0, signal: null });

  const second = await startAdmin();
  const again = createChannel(`127.0.0.1:${second.ready}`);
  const client = createClient(AdminServiceDefinition, again);
  const { items } = await client.listSettings({ groups: [1] }, as());
  expect(items.find(({ key }) => key === 'site_title')?.value).toBe('Quay');
  const { content } = await client.listStorages({}, as());
  // The first storage waited for fs, and is not wanted any more.
  expect(content.map(({ id, mount_path, status }) => [id, mount_path, status])).toEqual([[1, '/a', 'a service cannot be reached']]);
  again.close();
  expect(await second.stop()).toEqual({ code: 0, signal: null });

  for (const text of ['canary', SECRET]) expect(first.output() + second.output()).not.toContain(text);
});
