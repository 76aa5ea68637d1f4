import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type EmbeddedMongo, startEmbeddedMongo } from '@wharf/embedded-mongo';
import { describeContent, download, generateContent, httpRequest, makeTempDir, startProcess, type TempDir, upload } from '@wharf/harness';
import { modelsOf } from '@wharf/models';
import { ROLE } from '@wharf/rights';
import { connectStore, deriveKeys, Secret, seal } from '@wharf/service-kit';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { CONTENT_SEED, type DataPlane, startDataPlane } from './data-plane.ts';
import { PERMANENT_TOKEN, SECRET } from './gateway.ts';

const MAIN = fileURLToPath(new URL('../src/main.ts', import.meta.url));
const SIZE_BYTES = 256 * 1024 * 1024;
/** Buffers that wait for the garbage collector; far less than what passes through. */
const GROWTH_KIB = 128 * 1024;

let dir: TempDir;
let store: EmbeddedMongo;
let plane: DataPlane;

beforeAll(async () => {
  dir = await makeTempDir('gateway');
  store = await startEmbeddedMongo({ dataDir: join(dir.path, 'store') });
  plane = await startDataPlane();
  const connection = await connectStore(store.url);
  const { atRest } = deriveKeys(new Secret(SECRET));
  const models = modelsOf(connection);
  await models.permanentTokens.create({ _id: 'permanent', sealed: seal(atRest, PERMANENT_TOKEN) });
  await models.users.create({ _id: 1, username: 'admin', username_key: 'admin', role: ROLE.admin, base_path: '/' });
  await connection.close();
});
afterAll(async () => {
  await plane?.stop(0);
  await store?.stop();
  await dir?.remove();
});

const startGateway = () =>
  startProcess({
    name: 'api-gateway',
    command: process.execPath,
    args: ['--disable-warning=ExperimentalWarning', MAIN],
    env: {
      PATH: process.env['PATH'],
      NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'],
      MONGO_URL: store.url,
      WHARF_SECRET: SECRET,
      WHARF_HTTP_PORT: '0',
      WHARF_OPS_PORT: '0',
      WHARF_FS_DATA_URL: plane.url,
      // Nobody listens there: calls to the services fail at once.
      WHARF_AUTH_ADDR: '127.0.0.1:1',
      WHARF_LOG_LEVEL: 'debug',
      WHARF_DRAIN_SECONDS: '0',
    },
    ready: {
      line: (line) => (line.includes('"msg":"listening"') ? (JSON.parse(line) as { url: string; opsPort: number }) : undefined),
    },
  });

it('a real process passes 256 MiB each way in little memory, answers while a service is down, and ends with 0', async () => {
  const gateway = await startGateway();
  const { url, opsPort } = gateway.ready;
  const peakKib = async () => Number(/VmHWM:\s+(\d+) kB/.exec(await readFile(`/proc/${gateway.pid}/status`, 'utf8'))?.[1]);
  const isMeasured = process.platform === 'linux';

  expect((await httpRequest(url, { path: '/api/me', headers: { Authorization: PERMANENT_TOKEN } })).json()).toMatchObject({ code: 200 });
  const before = isMeasured ? await peakKib() : 0;
  const { sizeBytes, sha256 } = await download(url, { path: `/d/bytes/${SIZE_BYTES}` });
  expect({ sizeBytes, sha256 }).toEqual(describeContent(CONTENT_SEED, SIZE_BYTES));
  const put = await upload(url, {
    path: '/api/fs/put',
    headers: { Authorization: PERMANENT_TOKEN, 'Content-Length': SIZE_BYTES, 'File-Path': '/a' },
    body: generateContent(CONTENT_SEED, SIZE_BYTES),
  });
  expect(put.json()).toEqual(describeContent(CONTENT_SEED, SIZE_BYTES));
  if (isMeasured) expect((await peakKib()) - before).toBeLessThan(GROWTH_KIB);
  else console.error('memory is measured on Linux only');

  const login = await httpRequest(url, { method: 'POST', path: '/api/auth/login', body: '{"username":"admin"}' });
  expect([login.status, login.json()]).toEqual([200, { code: 500, message: 'a service cannot be reached', data: null }]);
  const metrics = await httpRequest(`http://127.0.0.1:${opsPort}`, { path: '/metrics' });
  expect(metrics.text()).toContain('http_requests_total{route="/d/*",code="206"} 1');
  expect(await gateway.stop()).toEqual({ code: 0, signal: null });
  expect(gateway.output()).not.toContain(PERMANENT_TOKEN);
}, 120_000);
