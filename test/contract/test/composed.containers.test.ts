import { createHash, randomBytes } from 'node:crypto';
import { type Api, at, download, httpRequest, login, waitFor } from '@wharf/harness';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Composed, DRAIN_SECONDS, SERVICES, startComposed } from '../support/composed.ts';
import { cutPair } from '../support/failures.ts';
import { expectPage } from '../support/page.ts';

const MIB = 1024 * 1024;
/** After the end of a cause everything is to be well again within this. */
const WELL_WITHIN_MS = 30_000;
/** No answer may take longer, whatever is away. */
const ANSWER_WITHIN_MS = 35_000;
/** For how long the load of the long tests runs while something is away. */
const DURING_MS = 10_000;
/** `npm run test:containers -- --long` tries the rest too: each takes up to a minute. */
const IS_LONG = process.env['WHARF_TEST_LONG'] === '1';

let composed: Composed;
let base = '';
let caller: Api;

beforeAll(async () => {
  composed = await startComposed();
  base = composed.balancer.url;
  caller = await login(base, 'admin', composed.adminPassword);
  await caller.call('/api/fs/mkdir', { path: '/local/load' });
}, 400_000);
afterAll(() => composed?.stop(), 60_000);

const put = (path: string, body: Buffer) =>
  httpRequest(base, {
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

async function read(path: string): Promise<void> {
  const { code, message } = await caller.get(path);
  if (code !== 200) throw new Error(`${code} ${message}`);
}

/** Digests of what was acknowledged and not looked at since, by path. */
const acknowledged = new Map<string, string>();

/** One of each thing that clients do most; answers what went wrong. */
async function round(name: string): Promise<string[]> {
  const content = randomBytes(4_096);
  const path = `/local/load/${name}`;
  const steps: Record<string, () => Promise<unknown>> = {
    upload: async () => {
      const { code, message } = JSON.parse((await put(path, content)).text());
      if (code !== 200) throw new Error(`${code} ${message}`);
      acknowledged.set(path, digest(content));
    },
    list: () => caller.call('/api/fs/list', { path: '/local/load', page: 1, per_page: 30 }),
    download: async () => expect((await download(base, { path: await linkOf(path) })).sha256).toBe(digest(content)),
    tasks: () => read('/api/task/copy/undone'),
    settings: () => read('/api/admin/setting/list'),
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
  const running = Array.from({ length: clients }, async () => {
    for (; !isOver; rounds += 1)
      for (const one of await round(randomBytes(8).toString('hex'))) wrong.push(`${new Date().toISOString()} ${one}`);
  });
  return {
    async stop() {
      isOver = true;
      await Promise.all(running);
      return { rounds, wrong };
    },
  };
}

async function expectAcknowledged(): Promise<void> {
  for (const [path, content] of acknowledged) expect((await download(base, { path: await linkOf(path) })).sha256, path).toBe(content);
  acknowledged.clear();
}

const wellAgain = () =>
  waitFor('all to be well', async () => (await round(randomBytes(8).toString('hex'))).length === 0, { withinMs: WELL_WITHIN_MS });

test('every service is one of deploy/compose, runs as nobody in particular on a root that it cannot write, and publishes nothing but the gateway', async () => {
  const format = '{{.Name}} {{.Config.User}} {{.HostConfig.ReadonlyRootfs}} {{.HostConfig.CapDrop}} {{json .HostConfig.PortBindings}}';
  for (const service of SERVICES) {
    const told = await composed.docker('inspect', '--format', format, composed.container(service));
    expect(told).toMatch(new RegExp(`^/${composed.container(service)} 10001:10001 true \\[ALL\\] `));
    expect(told.includes('HostPort')).toBe(service.startsWith('gateway'));
  }
});

test('every gateway shows the page', async () => {
  for (const gateway of composed.gateways) await expectPage(gateway);
});

test('the secrets are in no environment', async () => {
  const env = await composed.docker('inspect', '--format', '{{json .Config.Env}}', composed.container('auth'));
  expect(env).toContain('WHARF_SECRET_FILE');
  expect(env).not.toMatch(/"(WHARF_SECRET|MONGO_URL|NATS_URL|WHARF_ADMIN_PASSWORD)=/);
});

const restarted: [string, string[]][] = [
  ['gateways', ['gateway-1', 'gateway-2', 'gateway-3']],
  ['services of files', ['fs-1', 'fs-2']],
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
      const slow = download(base, { path: link }, async (bytes) => {
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

describe('what is away is told, all is well again within 30 s of its return, and what was acknowledged is there', () => {
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
  const cut = (one: string, other: string): [Act, Act] => {
    let mend = async () => {};
    return [
      async (all) => {
        mend = await cutPair(all, one, other);
      },
      () => mend(),
    ];
  };
  const long: typeof quick = [
    ['the store stands still', words('pause', 'ferretdb'), words('unpause', 'ferretdb')],
    ['the bus stands still', words('pause', 'nats'), words('unpause', 'nats')],
    ['auth is killed', words('kill', 'auth'), words('start', 'auth')],
    ['admin is killed', words('kill', 'admin'), words('start', 'admin')],
    ['one downloader is killed', words('kill', 'downloader-1'), words('start', 'downloader-1')],
    ['one fs and the store do not reach each other', ...cut('fs-1', 'ferretdb')],
    ['one gateway and one fs do not reach each other', ...cut('gateway-1', 'fs-1')],
  ];
  test.each(IS_LONG ? [...quick, ...long] : quick)('%s', { timeout: 300_000 }, async (title, begin, end) => {
    const path = `/local/load/kept-${title.replaceAll(' ', '-')}`;
    const kept = randomBytes(64 * 1024);
    expect(JSON.parse((await put(path, kept)).text()).code).toBe(200);
    acknowledged.set(path, digest(kept));
    await begin(composed);
    const since = performance.now();
    const clients = IS_LONG ? load(2) : undefined;
    const wrong = await round(randomBytes(8).toString('hex'));
    const answeredMs = (performance.now() - since) / 5;
    if (IS_LONG) await new Promise((resolve) => setTimeout(resolve, DURING_MS));
    await end(composed);
    const endedAt = performance.now();
    const loaded = await clients?.stop();
    await wellAgain();
    const all = [...wrong, ...(loaded?.wrong ?? [])].map((one) => one.replace(/^\S+Z /, '').slice(0, 160));
    const kinds = Map.groupBy(all, (one) => one.replaceAll(/[0-9a-f]{16}/g, '...'));
    const told = [...kinds].map(([kind, { length }]) => `${length} x ${kind}`);
    const rounds = (loaded?.rounds ?? 0) + 1;
    console.info(
      `${title}: of ${rounds} rounds ${told.length === 0 ? 'none has noticed anything' : told.join(' | ')}; ` +
        `a request took ${Math.round(answeredMs)} ms; well again after ${Math.round(performance.now() - endedAt)} ms`,
    );
    expect(answeredMs, 'milliseconds for a request').toBeLessThan(ANSWER_WITHIN_MS);
    await expectAcknowledged();
  });
});
