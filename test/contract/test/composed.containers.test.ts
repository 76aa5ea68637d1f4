import { randomBytes } from 'node:crypto';
import { download, waitFor } from '@wharf/harness';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Composed, DRAIN_SECONDS, SERVICES, startComposed } from '../support/composed.ts';
import { cutPair, fillDisk, runOutOfMemory, shiftClock } from '../support/failures.ts';
import { imageOf } from '../support/images.ts';
import { ANSWER_WITHIN_MS, type Load, openLoad } from '../support/load.ts';
import { expectPage } from '../support/page.ts';

const MIB = 1024 * 1024;
/** For how long the load of the long tests runs while something is away. */
const DURING_MS = 10_000;
/** `npm run test:containers -- --long` tries the rest too: each takes up to a minute. */
const IS_LONG = process.env['WHARF_TEST_LONG'] === '1';

/** A server of files, by the rclone that the image of fs has. */
const DAV = {
  image: 'wharf-fs:test',
  entrypoint: ['rclone', 'serve', 'webdav', '--addr', ':8080', '--user', 'wharf', '--pass', 'of-wharf', '/tmp'],
  ...{ networks: ['outer'], read_only: true, tmpfs: ['/tmp'], healthcheck: { disable: true } },
};

let composed: Composed;
let load: Load;

beforeAll(async () => {
  composed = await startComposed({ services: { dav: DAV } });
  load = await openLoad(composed.balancer.url, composed.adminPassword);
}, 400_000);
afterAll(() => composed?.stop(), 60_000);

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

test('the profile mongo is valid, and its MongoDB is a replica set that only the services reach', async () => {
  const told = JSON.parse(await composed.compose('--profile', 'mongo', 'config', '--format', 'json'));
  expect(told.services.mongo).toMatchObject({
    command: ['--replSet', 'wharf', '--bind_ip_all'],
    networks: { inner: { aliases: ['store'] } },
  });
  expect(Object.keys(told.services.mongo.networks)).toEqual(['inner']);
  expect(told.networks.inner.internal).toBe(true);
});

test('the secrets are in no environment', async () => {
  const env = await composed.docker('inspect', '--format', '{{json .Config.Env}}', composed.container('auth'));
  expect(env).toContain('WHARF_SECRET_FILE');
  expect(env).not.toMatch(/"(WHARF_SECRET|MONGO_URL|NATS_URL|WHARF_ADMIN_PASSWORD)=/);
});

test('a storage that rclone reaches is listed, written and read through every fs, by the rclone of the image', async () => {
  await composed.compose('up', '--detach', '--no-deps', 'dav');
  const options = 'url = http://dav:8080\nvendor = other\nuser = wharf';
  const addition = JSON.stringify({ type: 'webdav', options, secrets: 'pass = of-wharf', root_folder_path: '/' });
  const storage = { mount_path: '/by-rclone', driver: 'Rclone', addition, web_proxy: true };
  await waitFor('the server', async () => (await load.caller.post('/api/admin/storage/test', storage)).code === 200);
  await load.caller.call('/api/admin/storage/create', storage);
  const content = randomBytes(MIB);
  await load.put('/by-rclone/folder/one.bin', content);
  const listed = await load.caller.call('/api/fs/list', { path: '/by-rclone/folder', refresh: true });
  expect(listed).toMatchObject({ total: 1, content: [{ name: 'one.bin', size: MIB }] });
  // Gateways ask each fs in turn.
  for (let i = 0; i < 4; i += 1) await load.expectContent('/by-rclone/folder/one.bin', content);
  for (const fs of ['fs-1', 'fs-2']) expect(await composed.compose('top', fs)).toMatch(/rclone rcd/);
  await load.expectAcknowledged();
  await load.caller.call('/api/admin/storage/delete?id=2', {});
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
    await load.put(load.pathOf('long.bin'), randomBytes(8 * MIB));
    const link = await load.linkOf(load.pathOf('long.bin'));
    const clients = load.start(3);
    for (const service of services) {
      // Shorter than the grace period, longer than the drain.
      let received = 0;
      const slow = download(composed.balancer.url, { path: link }, async (bytes) => {
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
  /** Something that says how it is mended. */
  const until = (begin: (all: Composed) => Promise<() => Promise<void>>): [Act, Act] => {
    let mend = async () => {};
    return [
      async (all) => {
        mend = await begin(all);
      },
      () => mend(),
    ];
  };
  const cut = (one: string, other: string) => until((all) => cutPair(all, one, other));
  const filled = (folder: string) => until((all) => fillDisk(all, folder));
  const long: typeof quick = [
    ['the store stands still', words('pause', 'ferretdb'), words('unpause', 'ferretdb')],
    ['the bus stands still', words('pause', 'nats'), words('unpause', 'nats')],
    ['auth is killed', words('kill', 'auth'), words('start', 'auth')],
    ['admin is killed', words('kill', 'admin'), words('start', 'admin')],
    ['one downloader is killed', words('kill', 'downloader-1'), words('start', 'downloader-1')],
    ['one fs and the store do not reach each other', ...cut('fs-1', 'ferretdb')],
    ['one gateway and one fs do not reach each other', ...cut('gateway-1', 'fs-1')],
    ['the disk of the files is full', ...filled('/files')],
    ['the disk of what waits is full', ...filled('/data')],
    ['the disk of the store is full', ...filled('/tmp')],
    ['the clock of one fs is ten minutes ahead', ...until((all) => shiftClock(all, 'fs-1', imageOf('fs-1'), '+10m'))],
    ['the clock of one gateway is ten minutes behind', ...until((all) => shiftClock(all, 'gateway-1', imageOf('gateway-1'), '-10m'))],
    ['one fs runs out of memory', ...until((all) => runOutOfMemory(all, 'fs-1'))],
  ];
  test.each(IS_LONG ? [...quick, ...long] : quick)('%s', { timeout: 300_000 }, async (title, begin, end) => {
    await load.put(load.pathOf(`kept-${title.replaceAll(' ', '-')}`), randomBytes(64 * 1024));
    await begin(composed);
    const since = performance.now();
    const clients = IS_LONG ? load.start(2) : undefined;
    const wrong = await load.round();
    const answeredMs = (performance.now() - since) / 5;
    if (IS_LONG) await new Promise((resolve) => setTimeout(resolve, DURING_MS));
    await end(composed);
    const endedAt = performance.now();
    const loaded = await clients?.stop();
    await load.wellAgain();
    const all = [...wrong, ...(loaded?.wrong ?? [])].map((one) => one.replace(/^\S+Z /, '').slice(0, 160));
    const kinds = Map.groupBy(all, (one) => one.replaceAll(/[0-9a-f]{16}/g, '...'));
    const told = [...kinds].map(([kind, { length }]) => `${length} x ${kind}`);
    const rounds = (loaded?.rounds ?? 0) + 1;
    console.info(
      `${title}: of ${rounds} rounds ${told.length === 0 ? 'none has noticed anything' : told.join(' | ')}; ` +
        `a request took ${Math.round(answeredMs)} ms; well again after ${Math.round(performance.now() - endedAt)} ms`,
    );
    expect(answeredMs, 'milliseconds for a request').toBeLessThan(ANSWER_WITHIN_MS);
    await load.expectAcknowledged();
  });
});
