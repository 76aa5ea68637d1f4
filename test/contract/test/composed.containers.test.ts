import { createHash, randomBytes } from 'node:crypto';
import { type Api, at, download, httpRequest, login, waitFor } from '@wharf/harness';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Balancer, startBalancer } from '../support/balancer.ts';
import { type Composed, DRAIN_SECONDS, startComposed } from '../support/composed.ts';

const MIB = 1024 * 1024;
/** After the end of a cause everything is to be well again within this. */
const WELL_WITHIN_MS = 30_000;
/** No answer may take longer, whatever is away. */
const ANSWER_WITHIN_MS = 35_000;
/** `npm run test:containers -- --long` tries the rest too: each takes up to a minute. */
const IS_LONG = process.env['WHARF_TEST_LONG'] === '1';

let composed: Composed;
let balancer: Balancer;
let caller: Api;

beforeAll(async () => {
  composed = await startComposed();
  const backends = [];
  for (const [index, gateway] of composed.gateways.entries()) {
    const { hostname: host, port } = new URL(gateway);
    backends.push({ host, port: Number(port), ops: await composed.address(`gateway-${index + 1}`, 9090) });
  }
  balancer = await startBalancer(backends);
  caller = await login(balancer.url, 'admin', composed.adminPassword);
  await caller.call('/api/fs/mkdir', { path: '/local/load' });
}, 400_000);
afterAll(async () => {
  await balancer?.stop();
  await composed?.stop();
}, 60_000);

const put = (path: string, body: Buffer) =>
  httpRequest(balancer.url, {
    method: 'PUT',
    path: '/api/fs/put',
    headers: { Authorization: caller.token, 'File-Path': path, 'Content-Length': body.length },
    body,
    idleTimeoutMs: ANSWER_WITHIN_MS,
  });
const linkOf = async (path: string) => {
  const { pathname, search } = new URL(String(at(await caller.call('/api/fs/get', { path }), 'raw_url')));
  return pathname + search;
};
const digest = (content: Buffer) => createHash('sha256').update(content).digest('hex');

/** One of each thing that clients do most; answers what went wrong. */
async function round(name: string): Promise<string[]> {
  const content = randomBytes(4_096);
  const path = `/local/load/${name}`;
  const steps: Record<string, () => Promise<unknown>> = {
    upload: async () => expect(JSON.parse((await put(path, content)).text()).code).toBe(200),
    list: () => caller.call('/api/fs/list', { path: '/local/load', page: 1, per_page: 30 }),
    download: async () => expect((await download(balancer.url, { path: await linkOf(path) })).sha256).toBe(digest(content)),
    tasks: async () => expect((await caller.get('/api/task/copy/undone')).code).toBe(200),
    settings: async () => expect((await caller.get('/api/admin/setting/list')).code).toBe(200),
  };
  const wrong: string[] = [];
  for (const [step, act] of Object.entries(steps)) await act().catch((error) => wrong.push(`${step}: ${error}`));
  return wrong;
}

/** Clients that go round until they are told to stop. */
function load(clients: number) {
  let isOver = false;
  const wrong: string[] = [];
  let rounds = 0;
  const running = Array.from({ length: clients }, async (_, client) => {
    for (; !isOver; rounds += 1) for (const one of await round(`${client}-${rounds}`)) wrong.push(`${new Date().toISOString()} ${one}`);
  });
  return {
    async stop() {
      isOver = true;
      await Promise.all(running);
      return { rounds, wrong };
    },
  };
}

const wellAgain = () =>
  waitFor('all to be well', async () => (await round(`well-${randomBytes(4).toString('hex')}`)).length === 0, { withinMs: WELL_WITHIN_MS });

test('every service is one of deploy/compose, runs as nobody in particular on a root that it cannot write, and publishes nothing but the gateway', async () => {
  const format = '{{.Name}} {{.Config.User}} {{.HostConfig.ReadonlyRootfs}} {{.HostConfig.CapDrop}} {{json .HostConfig.PortBindings}}';
  for (const service of ['gateway-1', 'gateway-2', 'auth', 'admin', 'fs-1', 'fs-2', 'downloader-1', 'downloader-2']) {
    const told = await composed.docker('inspect', '--format', format, composed.container(service));
    expect(told).toMatch(new RegExp(`^/${composed.container(service)} 10001:10001 true \\[ALL\\] `));
    expect(told.includes('HostPort')).toBe(service.startsWith('gateway'));
  }
});

test('the secrets are in no environment', async () => {
  const env = await composed.docker('inspect', '--format', '{{json .Config.Env}}', composed.container('auth'));
  expect(env).toContain('WHARF_SECRET_FILE');
  expect(env).not.toMatch(/"(WHARF_SECRET|MONGO_URL|NATS_URL|WHARF_ADMIN_PASSWORD)=/);
});

const restarted: [string, string[]][] = [
  ['gateways', ['gateway-1', 'gateway-2']],
  ['file services', ['fs-1', 'fs-2']],
];
if (IS_LONG) restarted.push(['downloaders', ['downloader-1', 'downloader-2']]);

test.each(restarted)(
  '%s are restarted one after the other under load, and no request fails',
  { timeout: 180_000 },
  async (_title, services) => {
    await put('/local/load/long.bin', randomBytes(8 * MIB));
    const link = await linkOf('/local/load/long.bin');
    const clients = load(3);
    for (const service of services) {
      // Shorter than the grace period, longer than the drain.
      let received = 0;
      const slow = download(balancer.url, { path: link }, async (bytes) => {
        received = bytes;
        await new Promise((resolve) => setTimeout(resolve, 10));
      });
      await waitFor('a transfer to be under way', async () => received > 0);
      await composed.compose('restart', '--timeout', '60', service);
      await composed.healthy(service);
      expect((await slow).sizeBytes).toBe(8 * MIB);
    }
    const { rounds, wrong } = await clients.stop();
    console.info(`${rounds} rounds of 5 requests during the restarts, each with ${DRAIN_SECONDS} s of drain`);
    expect(wrong).toEqual([]);
  },
);

describe('what is away is told, and all is well again within 30 s of its return', () => {
  const KEPT = randomBytes(64 * 1024);

  type Act = (all: Composed) => Promise<unknown>;
  const words =
    (...command: string[]): Act =>
    (all) =>
      all.compose(...command);
  const quick: [string, Act, Act][] = [
    ['the store is killed', words('kill', 'ferretdb'), words('start', 'ferretdb')],
    ['the bus is killed', words('kill', 'nats'), words('start', 'nats')],
    ['one fs is killed', words('kill', 'fs-1'), words('start', 'fs-1')],
    [
      'one fs is cut off',
      (all) => all.docker('network', 'disconnect', 'wharf-test_inner', all.container('fs-1')),
      (all) => all.docker('network', 'connect', '--alias', 'fs', '--alias', 'fs-1', 'wharf-test_inner', all.container('fs-1')),
    ],
  ];
  const long: typeof quick = [
    ['the store stands still', words('pause', 'ferretdb'), words('unpause', 'ferretdb')],
    ['the bus stands still', words('pause', 'nats'), words('unpause', 'nats')],
    ['auth is killed', words('kill', 'auth'), words('start', 'auth')],
    ['admin is killed', words('kill', 'admin'), words('start', 'admin')],
    ['one downloader is killed', words('kill', 'downloader-1'), words('start', 'downloader-1')],
  ];
  test.each(IS_LONG ? [...quick, ...long] : quick)('%s', { timeout: 180_000 }, async (title, begin, end) => {
    const path = `/local/load/kept-${title.replaceAll(' ', '-')}`;
    expect(JSON.parse((await put(path, KEPT)).text()).code).toBe(200);
    await begin(composed);
    const since = performance.now();
    const wrong = await round('during');
    console.info(`${title}: ${wrong.length === 0 ? 'clients notice nothing' : wrong.map((one) => one.slice(0, 160)).join(' | ')}`);
    expect((performance.now() - since) / 5, 'milliseconds for a request').toBeLessThan(ANSWER_WITHIN_MS);
    await end(composed);
    await wellAgain();
    expect((await download(balancer.url, { path: await linkOf(path) })).sha256, 'what was acknowledged').toBe(digest(KEPT));
  });
});
