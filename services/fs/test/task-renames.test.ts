import { type FaultProxy, isAvailable, isMissing, startCephRgw, startFaultProxy, waitFor } from '@wharf/harness';
import type { Task } from '@wharf/proto/task';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { type Bucket, makeBucket } from '../src/drivers/s3/testing/bucket.ts';
import { as, type FsProcess, startFsProcess } from './fs-process.ts';
import { type Installation, openInstallation } from './installation.ts';

const LIMIT_MS = 60_000;
/** More than are renamed while the request waits. */
const FILES = 110;
/** Makes each file take long enough that its worker can be killed between two, in milliseconds. */
const LATENCY_MS = 20;
const SUCCEEDED = 2;
const FAILED = 7;

const numbers = Array.from({ length: FILES }, (_, index) => index);
const textOf = (index: number) => `the text of file ${index}`;

const ceph = await startCephRgw();
afterAll(async () => {
  if (!isMissing(ceph)) await ceph.stop();
});

describe.runIf(isAvailable('ceph-rgw', ceph))('names given in a bucket, which copies and removes for each', () => {
  let installation: Installation;
  let bucket: Bucket;
  let way: FaultProxy;

  beforeAll(async () => {
    if (isMissing(ceph)) throw new Error('there is no Ceph RGW');
    bucket = await makeBucket(ceph, 'renames');
    way = await startFaultProxy({ to: { host: '127.0.0.1', port: Number(new URL(ceph.url).port) } });
    installation = await openInstallation();
    await installation.login({ id: 1, permission: 0xffff });
    const addition = bucket.addition({ endpoint: `http://${way.host}:${way.port}` });
    await installation.writeStorage({ _id: 1, mount_path: '/b', driver: 'S3', addition });
  }, LIMIT_MS);
  afterAll(async () => {
    await way?.stop();
    await installation?.close();
  });

  const until = (what: string, condition: () => Promise<boolean>) => waitFor(what, condition, { withinMs: LIMIT_MS });
  const namesIn = async (folder: string) => (await bucket.keys(`${folder}/`)).filter((name) => name !== '.wharf');
  const count = (names: readonly string[], first: string) => names.filter((name) => name.startsWith(first)).length;

  /** Asks for other names for all of a folder. @returns the id of the task */
  const begin = async ({ fs, tasks }: FsProcess, folder: string): Promise<string> => {
    const rename_objects = numbers.map((index) => ({ src_name: `old-${index}`, new_name: `new-${index}` }));
    await until('the storage to be known', async () => {
      await fs.batchRename({ src_dir: `/b/${folder}`, rename_objects }, as());
      return true;
    });
    const found: Task[] = [];
    for await (const chunk of tasks.listTasks({ list: 'move', done: false, page: 1, per_page: 0 }, as())) found.push(...chunk.tasks);
    const [task] = found;
    if (!task || found.length > 1) throw new Error(`${found.length} tasks were made`);
    return task.id;
  };

  it.each([
    ['copies', 'copying', (names: readonly string[]) => count(names, 'new-') > FILES / 4 && count(names, 'new-') < FILES],
    ['removes', 'removing', (names: readonly string[]) => count(names, 'old-') < FILES - 8 && count(names, 'old-') > 0],
  ])(
    'are all given, and nothing is lost, where its worker was killed as it %s',
    async (_doing, folder, isAmidst) => {
      await Promise.all(numbers.map((index) => bucket.put(`${folder}/old-${index}`, textOf(index))));
      await bucket.put(`${folder}/beside`, 'beside');
      const first = await startFsProcess(installation);
      onTestFinished(async () => void (await first.kill()));
      const id = await begin(first, folder);
      way.latencyMs = LATENCY_MS;
      await until('the middle of it', async () => isAmidst(await namesIn(folder)));
      // What it has not sent by now is never sent.
      way.stall();
      await first.kill();
      way.breakAll();
      way.latencyMs = 0;
      await way.resume();

      const left = await namesIn(folder);
      expect(isAmidst(left)).toBe(true);
      // Each is there by one of its names, or by both.
      expect(numbers.filter((index) => !left.includes(`old-${index}`) && !left.includes(`new-${index}`))).toEqual([]);

      const second = await startFsProcess(installation);
      onTestFinished(async () => void (await second.stop()));
      await until('the end', async () => [SUCCEEDED, FAILED].includes((await second.task('move', id)).state));
      expect(await second.task('move', id)).toMatchObject({ state: SUCCEEDED, error: '' });
      expect((await namesIn(folder)).toSorted()).toEqual(['beside', ...numbers.map((index) => `new-${index}`)].toSorted());
      expect(await Promise.all(numbers.map((index) => bucket.text(`${folder}/new-${index}`)))).toEqual(numbers.map(textOf));
      expect(await bucket.text(`${folder}/beside`)).toBe('beside');
    },
    LIMIT_MS * 2,
  );
});
