import { createHash, randomBytes } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { Agent, request } from 'node:http';
import { join } from 'node:path';
import { type Api, at, download, freePort, httpRequest, login, waitFor } from '@wharf/harness';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Cluster, type Program, startCluster } from './support/cluster.ts';
import { type SourceServer, startSourceServer } from './support/source-server.ts';

const MIB = 1024 * 1024;
/** More than all buffers between a file and who reads nothing of it. */
const BIG = randomBytes(48 * MIB);
const WITHIN = { withinMs: 60_000 };
/** Long: what a test waits for comes earlier. */
const LONG = { WHARF_DRAIN_SECONDS: '60', WHARF_GRACE_SECONDS: '90' };

interface Draining extends Pick<Cluster, 'start' | 'stop'> {
  readonly filesDir: string;
  readonly shared: Readonly<Record<string, string>>;
  readonly adminPassword: string;
  readonly gateway: string;
  readonly caller: Api;
}

let cluster: Draining;
let source: SourceServer;

beforeAll(async () => {
  source = await startSourceServer();
  cluster = await startCluster('draining', async ({ dir, env, adminPassword, start, stop }) => {
    const ports = [await freePort(), await freePort(), await freePort(), await freePort(), await freePort()];
    const [auth, admin, fs, data, downloader] = ports.map(String);
    const filesDir = join(dir, 'files');
    await mkdir(filesDir);
    await writeFile(join(filesDir, 'big.bin'), BIG);
    const shared = {
      ...env,
      WHARF_FILES_DIR: filesDir,
      WHARF_SCRATCH_DIR: join(dir, 'scratch'),
      WHARF_TOOLS_DIR: join(dir, 'downloads'),
      WHARF_EGRESS_ALLOW: '127.0.0.1',
      WHARF_AUTH_ADDR: `127.0.0.1:${auth}`,
      WHARF_ADMIN_ADDR: `127.0.0.1:${admin}`,
      WHARF_FS_ADDR: `127.0.0.1:${fs}`,
      WHARF_FS_DATA_URL: `http://127.0.0.1:${data}`,
      WHARF_DOWNLOADER_ADDR: `127.0.0.1:${downloader}`,
    };
    await start('services/auth', { ...shared, WHARF_GRPC_PORT: `${auth}` });
    await start('services/admin', { ...shared, WHARF_GRPC_PORT: `${admin}` });
    await start('services/fs', { ...shared, WHARF_GRPC_PORT: `${fs}`, WHARF_DATA_PORT: `${data}` });
    const gateway = (await start('services/api-gateway', { ...shared, WHARF_HTTP_PORT: '0' })).ready;
    return { filesDir, shared, adminPassword, gateway, caller: await login(gateway, 'admin', adminPassword), start, stop };
  });
}, 180_000);
afterAll(async () => {
  await cluster?.stop();
  await source?.close();
});

/** A replica of its own, with its ops address. */
async function startReplica(service: string, env: Readonly<Record<string, string>>): Promise<Program & { ops: string }> {
  const port = await freePort();
  const program = await cluster.start(`services/${service}`, { ...cluster.shared, WHARF_OPS_PORT: String(port), ...env });
  return Object.assign(program, { ops: `http://127.0.0.1:${port}` });
}

const startGateway = (env: Readonly<Record<string, string>>) => startReplica('api-gateway', { WHARF_HTTP_PORT: '0', ...env });
const startFs = (env: Readonly<Record<string, string>>) => startReplica('fs', { WHARF_GRPC_PORT: '0', WHARF_DATA_PORT: '0', ...env });

const notReady = (ops: string) =>
  waitFor('readiness to fail', async () => (await httpRequest(ops, { path: '/readyz' })).status === 503, WITHIN);
const refuses = (base: string) =>
  waitFor(
    'new connections to be refused',
    () =>
      httpRequest(base, { path: '/ping' }).then(
        () => false,
        () => true,
      ),
    WITHIN,
  );

/** A download that is held after its first bytes until it is released. */
async function slowDownload(base: string) {
  const raw = at(await cluster.caller.call('/api/fs/get', { path: '/local/big.bin' }), 'raw_url');
  const { pathname, search } = new URL(String(raw));
  const begun = Promise.withResolvers<void>();
  const held = Promise.withResolvers<void>();
  const done = download(base, { path: pathname + search, idleTimeoutMs: 120_000 }, () => {
    begun.resolve();
    return held.promise;
  });
  done.catch(begun.reject);
  await begun.promise;
  return { done, release: () => held.resolve() };
}

/** What a client that would like to keep its connections is told about them. */
function connectionOf(base: string, agent: Agent): Promise<string | undefined> {
  return new Promise((resolve, reject) => {
    const asked = request(`${base}/ping`, { agent }, (answer) => answer.resume().once('end', () => resolve(answer.headers.connection)));
    asked.once('error', reject).end();
  });
}

test.each([
  ['gateway', startGateway],
  ['data plane', startFs],
] as const)(
  'a %s that is told to stop is not ready, answers new connections for a while, and ends the downloads under way',
  async (_, start) => {
    const program = await start({ WHARF_DRAIN_SECONDS: '3', WHARF_GRACE_SECONDS: '90' });
    const agent = new Agent({ keepAlive: true });
    try {
      expect(await connectionOf(program.ready, agent)).toBe('keep-alive');
      const transfer = await slowDownload(program.ready);
      const stopped = program.kill('SIGTERM');
      await notReady(program.ops);
      expect(await connectionOf(program.ready, agent), 'on a connection from before').toBe('close');
      expect(await connectionOf(program.ready, agent), 'on a new one').toBe('close');
      await refuses(program.ready);
      transfer.release();
      const { status, sha256 } = await transfer.done;
      expect([status, sha256]).toEqual([200, createHash('sha256').update(BIG).digest('hex')]);
      expect(await stopped).toEqual({ code: 0, signal: null });
    } finally {
      agent.destroy();
      await program.kill();
    }
  },
);

test('a transfer that nobody reads is cut when the grace period ends', async () => {
  const program = await startGateway({ WHARF_DRAIN_SECONDS: '0', WHARF_GRACE_SECONDS: '5' });
  const transfer = await slowDownload(program.ready);
  expect(await program.kill('SIGTERM')).toEqual({ code: 0, signal: null });
  transfer.release();
  await expect(transfer.done).rejects.toThrow();
});

test('a downloader that is told to stop leaves its tasks to others while it still listens', { timeout: 180_000 }, async () => {
  const port = new URL(`http://${cluster.shared['WHARF_DOWNLOADER_ADDR']}`).port;
  const first = await startReplica('downloader', { ...LONG, WHARF_GRPC_PORT: port });
  await waitFor(
    'the gateway to reach it',
    async () => (await cluster.caller.get('/api/public/offline_download_tools')).code === 200,
    WITHIN,
  );
  // Slow enough that it is still under way when the other one has started, on any machine.
  source.bytesPerSecond = MIB / 8;
  const content = randomBytes(24 * MIB);
  source.files.set('/handed-on.bin', content);
  const asked = { urls: [`${source.url}/handed-on.bin`], path: '/local/in', tool: 'SimpleHttp', delete_policy: 'delete_always' };
  const answer = await cluster.caller.call('/api/fs/add_offline_download', asked);
  const id = String(at(answer, 'tasks', 0, 'id'));
  const info = async () => (await cluster.caller.post(`/api/task/offline_download/info?tid=${id}`)).data;
  await waitFor('it to fetch', async () => Number(at(await info(), 'progress')) > 0, WITHIN);
  const second = await startReplica('downloader', { WHARF_GRPC_PORT: '0' });
  const stopped = first.kill('SIGTERM');
  await notReady(first.ops);
  const claimed = async () =>
    /^wharf_downloader_task_claim_seconds_count\{.*\} [1-9]/m.test((await httpRequest(second.ops, { path: '/metrics' })).text()) &&
    at(await info(), 'state') === 1;
  await waitFor('the other one to have it', claimed, WITHIN);
  source.bytesPerSecond = 0;
  await waitFor('its end', async () => at(await info(), 'state') === 2, WITHIN);
  expect((await readFile(join(cluster.filesDir, 'in', 'handed-on.bin'))).equals(content)).toBe(true);
  expect((await httpRequest(first.ops, { path: '/readyz' })).text(), 'the first is still there').toContain('stopping');
  await first.kill();
  await stopped;
  await second.kill();
});
