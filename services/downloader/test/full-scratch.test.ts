import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { makeTempDir, waitFor } from '@wharf/harness';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type AwkwardServer, content, startAwkwardServer } from './awkward-server.ts';
import { type Installation, openInstallation } from './installation.ts';

const MB = 1_000_000;
/** One user has 10 MB of it. */
const SCRATCH_BYTES = Math.ceil((10 * MB) / 0.75);
let place: Installation;
let server: AwkwardServer;
/** Files whose rest is not sent yet. */
const held = new Set<string>();
let goOn: (() => void)[] = [];

beforeEach(async () => {
  held.clear();
  goOn = [];
  place = await openInstallation({ offline_download_task_threads_num: '3' });
  // `/6-film` has 6 MB; `/unknown-6-film` does not say so.
  server = await startAwkwardServer({
    content: Buffer.of(),
    async handle(request, response) {
      const path = request.url ?? '';
      const body = content(Number(/(\d+)-/.exec(path)?.[1]) * MB);
      response.writeHead(200, path.includes('unknown') ? {} : { 'Content-Length': body.length });
      response.write(body.subarray(0, MB / 2));
      if (held.has(path)) await new Promise<void>((resolve) => goOn.push(resolve));
      response.end(body.subarray(MB / 2));
      return true;
    },
  });
});
afterEach(async () => {
  for (const go of goOn) go();
  await place.close();
  await server.close();
});

const scratchFiles = () => readdir(join(place.dir, 'scratch'));
const requestsFor = (path: string) => server.requests.filter((request) => request.path === path).length;
const waiting = (status: string) => ({ state: 0, status, phase: 'waiting', error: '' });

it('a download that finds no room in the scratch folder waits in the queue: no worker, no failure, nothing asked of its source', async () => {
  const replica = await place.open({ scratchMaxBytes: SCRATCH_BYTES });
  held.add('/7-first');
  const first = await replica.add(`${server.url}/7-first`);
  await waitFor('its file', async () => (await scratchFiles().catch(() => [])).length === 1);
  const [second, third] = [await replica.add(`${server.url}/6-second`), await replica.add(`${server.url}/5-third`)];
  await replica.until(second, waiting('needs 6 MB, 3 MB free in the scratch folder'));
  await replica.until(third, waiting('needs 5 MB, 3 MB free in the scratch folder'));
  const never = await replica.add(`${server.url}/11-never`);
  expect((await replica.until(never, { state: 7 })).error).toBe('needs 11 MB, the scratch folder has room for 10 MB at most');
  // One worker has the first, the other one is free.
  await replica.until(await replica.add(`${server.url}/2-small`), { state: 2 });
  expect(place.fs.files.get('/in/2-small')?.equals(content(2 * MB))).toBe(true);
  const since = performance.now();
  await replica.cancel(third);
  await replica.until(third, { state: 4 });
  expect(performance.now() - since).toBeLessThan(1_000);
  await replica.until(second, waiting('needs 6 MB, 3 MB free in the scratch folder'));
  expect([requestsFor('/6-second'), place.fs.sessionCount]).toEqual([1, 2]);
  for (const go of goOn) go();
  // Much sooner than when its time would have come.
  await replica.until(second, { state: 2 }, 15_000);
  expect(place.fs.files.get('/in/6-second')?.equals(content(6 * MB))).toBe(true);
  expect(await replica.until(first, { state: 2 })).toMatchObject({ error: '' });
  expect(await scratchFiles()).toEqual([]);
});

it('it waits on when the downloader has gone, and another one with room takes it', async () => {
  const replica = await place.open({ scratchMaxBytes: SCRATCH_BYTES });
  held.add('/7-first');
  await replica.add(`${server.url}/7-first`);
  await waitFor('its file', async () => (await scratchFiles().catch(() => [])).length === 1);
  const second = await replica.add(`${server.url}/6-second`);
  await replica.until(second, waiting('needs 6 MB, 3 MB free in the scratch folder'));
  await replica.close();
  const other = await makeTempDir('scratch-other');
  const next = await place.open({ scratchDir: other.path });
  expect(await next.task(second)).toMatchObject(waiting('needs 6 MB, 3 MB free in the scratch folder'));
  await next.until(second, { state: 2 }, 15_000);
  await other.remove();
});

it('a file that did not say how big it is makes room for others when it meets the bound, and comes later', async () => {
  const replica = await place.open({ scratchMaxBytes: SCRATCH_BYTES });
  held.add('/6-first');
  const first = await replica.add(`${server.url}/6-first`);
  await waitFor('its file', async () => (await scratchFiles().catch(() => [])).length === 1);
  const second = await replica.add(`${server.url}/unknown-7-second`);
  const waits = await replica.until(second, { state: 0, phase: 'waiting' });
  expect(waits.status).toBe('needs 10 MB, 4 MB free in the scratch folder');
  expect(await scratchFiles()).toHaveLength(1);
  for (const go of goOn) go();
  await replica.until(first, { state: 2 });
  await replica.until(second, { state: 2 }, 15_000);
  expect(place.fs.files.get('/in/unknown-7-second')?.equals(content(7 * MB))).toBe(true);
  const never = await replica.add(`${server.url}/unknown-12-never`);
  expect((await replica.until(never, { state: 7 })).error).toMatch(/the scratch folder has room for 10 MB at most$/);
});
