import { randomBytes } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { at, httpRequest, isAvailable, type RunningProcess, startAria2, waitFor } from '@wharf/harness';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type DownloadCluster, startDownloadCluster } from './support/download-cluster.ts';
import { type SourceServer, startSourceServer } from './support/source-server.ts';

const MIB = 1024 * 1024;
const WITHIN = { withinMs: 120_000 };
const CONNECTIONS = 4;
/** Files below 64 MiB are fetched in parts of this size. */
const PART_BYTES = MIB;
/** What a connection may hold on its way between two processes of one machine. */
const SOCKET_BYTES = 4 * MIB;

let source: SourceServer;
let cluster: DownloadCluster;
const downloaders: RunningProcess<string>[] = [];

beforeAll(async () => {
  source = await startSourceServer();
  cluster = await startDownloadCluster({ WHARF_DOWNLOAD_CONNECTIONS: String(CONNECTIONS) });
}, 180_000);
afterAll(async () => {
  await cluster?.stop();
  await source?.close();
});
beforeEach(() => {
  source.bytesPerSecond = 0;
});

afterEach(async () => {
  for (const downloader of downloaders.splice(0)) await downloader.stop();
});

const start = async (index: number) => {
  const downloader = await cluster.startDownloader(index);
  downloaders.push(downloader);
  // The gateway tries an address again a moment after it came back.
  const isReached = async () => (await cluster.caller.get('/api/public/offline_download_tools')).code === 200;
  if (index === 0) await waitFor('the gateway to reach it', isReached, WITHIN);
  return downloader;
};
const queue = async (name: string, content: Buffer, tool = 'SimpleHttp') => {
  source.files.set(`/${name}`, content);
  const answer = await cluster.caller.call('/api/fs/add_offline_download', {
    ...{ urls: [`${source.url}/${name}`], path: '/local/in', tool, delete_policy: 'delete_always' },
  });
  return String(at(answer, 'tasks', 0, 'id'));
};
const infoOf = async (id: string) => (await cluster.caller.post(`/api/task/offline_download/info?tid=${id}`)).data;
const progressAbove = (id: string, percent: number) =>
  waitFor(`${percent} percent`, async () => Number(at(await infoOf(id), 'progress')) > percent, WITHIN);
const stateIs = (id: string, state: number) => waitFor(`state ${state}`, async () => at(await infoOf(id), 'state') === state, WITHIN);
const leftovers = async () => [
  ...(await readdir(join(cluster.filesDir, '.wharf-tmp')).catch(() => [])),
  ...(await readdir(join(cluster.toolsDir, 'aria2')).catch(() => [])),
];
/** Times are told, not asserted: machines differ. */
const tell = (what: string, sinceMs: number) => console.info(`${what}: ${Math.round(performance.now() - sinceMs)} ms`);

describe.each([
  ['is told to stop', 'SIGTERM'],
  ['is killed', 'SIGKILL'],
] as const)('a downloader that %s', (_title, signal) => {
  test('leaves its file to another one, which fetches what is missing', { timeout: 300_000 }, async () => {
    const name = `${signal}.bin`;
    const content = randomBytes(48 * MIB);
    const first = await start(0);
    source.bytesPerSecond = MIB;
    const before = source.sentBytes();
    const id = await queue(name, content);
    await progressAbove(id, 25);
    await start(1);
    const since = performance.now();
    if (signal === 'SIGTERM') await first.stop();
    else await first.kill();
    const atEnd = source.sentBytes();
    await waitFor('the other one to fetch', async () => source.sentBytes() > atEnd, WITHIN);
    tell(`fetching again after ${signal}`, since);
    source.bytesPerSecond = 0;
    await start(0);
    await stateIs(id, 2);
    expect((await readFile(join(cluster.filesDir, 'in', name))).equals(content)).toBe(true);
    const again = source.sentBytes() - before - content.length;
    console.info(`fetched again after ${signal}: ${(again / MIB).toFixed(1)} MiB of ${content.length / MIB}`);
    // A part for each connection; after a kill also what came since parts were last noted.
    expect(again).toBeLessThan(CONNECTIONS * (PART_BYTES + SOCKET_BYTES));
    expect(await leftovers()).toEqual([]);
  });
});

describe('a download that runs', () => {
  test('ends when it is cancelled, and leaves nothing', { timeout: 300_000 }, async () => {
    await start(0);
    source.bytesPerSecond = MIB / 4;
    const id = await queue('cancelled.bin', randomBytes(40 * MIB));
    await progressAbove(id, 0);
    const since = performance.now();
    await cluster.caller.call(`/api/task/offline_download/cancel?tid=${id}`, {});
    await stateIs(id, 4);
    tell('cancel of SimpleHttp', since);
    expect(await leftovers()).toEqual([]);
    expect(await readdir(join(cluster.filesDir, 'in'))).not.toContain('cancelled.bin');
  });

  test('with aria2: ends when it is cancelled; goes on when aria2 was killed, and when its downloader was', {
    timeout: 300_000,
  }, async (context) => {
    const tool = await startAria2();
    if (!isAvailable('aria2', tool)) return context.skip(tool.missing);
    await start(0);
    try {
      await cluster.caller.call('/api/admin/setting/set_aria2', { uri: tool.url, secret: tool.password });
      source.bytesPerSecond = MIB / 2;
      const cancelled = await queue('aria2-cancelled.bin', randomBytes(20 * MIB), 'aria2');
      await progressAbove(cancelled, 1);
      const since = performance.now();
      await cluster.caller.call(`/api/task/offline_download/cancel?tid=${cancelled}`, {});
      await stateIs(cancelled, 4);
      tell('cancel of aria2', since);
      expect(await leftovers()).toEqual([]);
      const active = { jsonrpc: '2.0', id: 1, method: 'aria2.tellActive', params: [`token:${tool.password}`] };
      const answer = await httpRequest(tool.url, { path: '/jsonrpc', method: 'POST', body: JSON.stringify(active) });
      expect(JSON.parse(answer.text())).toMatchObject({ result: [] });

      source.bytesPerSecond = 2 * MIB;
      const content = randomBytes(20 * MIB);
      const id = await queue('aria2-killed.bin', content, 'aria2');
      await progressAbove(id, 25);
      await tool.restart();
      source.bytesPerSecond = 0;
      await stateIs(id, 2);
      const file = join(cluster.filesDir, 'in', 'aria2-killed.bin');
      const arrived = await waitFor('the file', () => readFile(file).catch(() => undefined), WITHIN);
      expect(arrived.equals(content)).toBe(true);
      await waitFor('nothing left', async () => (await leftovers()).length === 0, WITHIN);

      // Its proxy goes with the downloader.
      source.bytesPerSecond = 2 * MIB;
      const other = randomBytes(48 * MIB);
      const before = source.sentBytes();
      const handedOver = await queue('aria2-handed-over.bin', other, 'aria2');
      await progressAbove(handedOver, 40);
      await downloaders.pop()?.kill();
      await start(0);
      source.bytesPerSecond = 0;
      await stateIs(handedOver, 2);
      const copy = join(cluster.filesDir, 'in', 'aria2-handed-over.bin');
      expect((await waitFor('the file', () => readFile(copy).catch(() => undefined), WITHIN)).equals(other)).toBe(true);
      const again = source.sentBytes() - before - other.length;
      console.info(`fetched again by aria2 after SIGKILL of its downloader: ${(again / MIB).toFixed(1)} MiB of ${other.length / MIB}`);
      await waitFor('nothing left', async () => (await leftovers()).length === 0, WITHIN);
    } finally {
      await tool.stop();
    }
  });
});
