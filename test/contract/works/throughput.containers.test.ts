import { type Api, at, download, login, waitFor } from '@wharf/harness';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Composed, startComposed } from '../support/composed.ts';
import { sourceDigest, sourceUrl } from '../support/source.ts';

const MIB = 1024 * 1024;
const DOWNLOADERS = ['downloader-1', 'downloader-2', 'downloader-3', 'downloader-4'];
const ENDED_WITHIN_MS = 300_000;
const SUCCEEDED = 2;

/** What is fetched: so many files of that size, each connection of the source as fast as it goes (0) or in bytes a second. */
const CASES = {
  'a source that is slow': { files: 80, sizeBytes: MIB, bytesPerSecond: 256 * 1024 },
  'a source that is as fast as the machine': { files: 40, sizeBytes: 4 * MIB, bytesPerSecond: 0 },
} as const;

let composed: Composed;
let caller: Api;
beforeAll(async () => {
  composed = await startComposed({ replicas: { 'downloader-3': 'downloader-2', 'downloader-4': 'downloader-2' } });
  caller = await login(composed.balancer.url, 'admin', composed.adminPassword);
}, 400_000);
afterAll(() => composed?.stop(), 60_000);

/** Only the first so many run. */
async function run(count: number): Promise<void> {
  for (const [index, name] of DOWNLOADERS.entries())
    if (index < count) {
      await composed.compose('start', name);
      await composed.healthy(name);
    } else await composed.compose('stop', '--timeout', '60', name);
}

const undone = async () => {
  const { data } = await caller.get('/api/task/offline_download/undone');
  return Array.isArray(data) ? data.length : Number.NaN;
};

test.each(Object.entries(CASES))(
  '%s: what one, two and four downloaders on one queue fetch arrives whole',
  { timeout: 1_200_000 },
  async (title, kind) => {
    const digest = await sourceDigest(composed, kind.sizeBytes);
    const seconds: number[] = [];
    for (const count of [1, 2, 4]) {
      await run(count);
      const path = `/local/throughput-${count}`;
      const names = Array.from({ length: kind.files }, (_, index) => `file-${index}.bin`);
      const since = performance.now();
      const urls = names.map((name) => sourceUrl(name, kind.sizeBytes, kind.bytesPerSecond));
      await caller.call('/api/fs/add_offline_download', { urls, path, tool: 'SimpleHttp', delete_policy: 'delete_always' });
      await waitFor('all downloads to end', async () => (await undone()) === 0, { withinMs: ENDED_WITHIN_MS, everyMs: 200 });
      seconds.push((performance.now() - since) / 1000);
      const done = (await caller.get('/api/task/offline_download/done')).data;
      expect(Array.isArray(done) ? done.filter((task) => at(task, 'state') !== SUCCEEDED) : done).toEqual([]);
      for (const name of names) {
        const { pathname, search } = new URL(String(at(await caller.call('/api/fs/get', { path: `${path}/${name}` }), 'raw_url')));
        expect((await download(composed.balancer.url, { path: pathname + search })).sha256, name).toBe(digest);
      }
      await caller.call('/api/task/offline_download/clear_done');
      await caller.call('/api/fs/remove', { dir: '/local', names: [path.slice('/local/'.length)] });
    }
    const rate = (taken = 0) => `${((kind.files * kind.sizeBytes) / MIB / taken).toFixed(1)} MiB/s in ${taken.toFixed(1)} s`;
    console.info(`${title}: one ${rate(seconds[0])}, two ${rate(seconds[1])}, four ${rate(seconds[2])}`);
  },
);
