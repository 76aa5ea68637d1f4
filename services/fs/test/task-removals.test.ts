import { chown, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  type FaultProxy,
  httpRequest,
  isAvailable,
  isMissing,
  startCephRgw,
  startFaultProxy,
  startSshServer,
  waitFor,
} from '@wharf/harness';
import type { Task } from '@wharf/proto/task';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { folderSide } from '../src/driver-contract/conformance/folder-side.ts';
import { makeBucket } from '../src/drivers/s3/testing/bucket.ts';
import { as, type FsProcess, headersAs, startFsProcess } from './fs-process.ts';
import { type Installation, openInstallation } from './installation.ts';
import { itemsOf } from './sftp/open-sftp.ts';

const LIMIT_MS = 60_000;
/** So many looks in a row that find the same: what is still on a slow way, or at a busy server, comes between two of them. */
const SETTLED_LOOKS = 20;
/** A storage by a way that can be slow, and what is there past us. */
interface Store {
  readonly driver: string;
  readonly addition: string;
  readonly way: FaultProxy;
  /** Latency of that way by which somebody can come in between, in milliseconds. */
  readonly slowMs: number;
  /** Enough for some steps: pages of a thousand of a bucket, of some hundred of a server. */
  readonly count: number;
  /** Puts empty files there, with the folders above them. */
  seed(paths: readonly string[]): Promise<void>;
  /** Files at or below a folder, also once it has lost its name. */
  files(folder: string): Promise<string[]>;
  text(file: string): Promise<string>;
}

const paths = (folder: string, count: number) => Array.from({ length: count }, (_, index) => `/${folder}/${index % 3}/file-${index}`);

const ceph = await startCephRgw();
const sshd = await startSshServer();
afterAll(async () => {
  if (!isMissing(ceph)) await ceph.stop();
  if (!isMissing(sshd)) await sshd.stop();
});

async function onBucket(): Promise<Store> {
  if (isMissing(ceph)) throw new Error('there is no Ceph RGW');
  const bucket = await makeBucket(ceph, 'removals');
  const way = await startFaultProxy({ to: { host: '127.0.0.1', port: Number(new URL(ceph.url).port) } });
  return {
    driver: 'S3',
    addition: bucket.addition({ endpoint: `http://${way.host}:${way.port}` }),
    way,
    slowMs: 200,
    count: 1_300,
    seed: (paths) => bucket.putMany(paths.map((path) => path.slice(1))),
    files: async (folder) => (await bucket.keys(`${folder}/`)).filter((key) => !key.endsWith('.wharf')),
    text: (file) => bucket.text(file),
  };
}

async function onServer(): Promise<Store> {
  if (isMissing(sshd)) throw new Error('there is no OpenSSH');
  const way = await startFaultProxy({ to: sshd });
  return {
    driver: 'SFTP',
    addition: JSON.stringify({ ...itemsOf({ ...sshd, host: way.host, port: way.port }), host_key: sshd.hostKeyFingerprint() }),
    way,
    slowMs: 20,
    count: 2_300,
    async seed(paths) {
      await folderSide(sshd.folder).seed(paths);
      const tops = new Set(paths.map((path) => path.split('/')[1] ?? ''));
      for (const top of tops) {
        const inside = await readdir(join(sshd.folder, top), { recursive: true });
        for (const name of ['', ...inside]) await chown(join(sshd.folder, top, name), sshd.uid, sshd.uid);
      }
    },
    files: async (folder) => {
      const doomed = (await readdir(sshd.folder)).filter((name) => name.startsWith('.wharf-tmp-doomed-'));
      const inside = [folder, ...doomed].map((each) => readdir(join(sshd.folder, each), { recursive: true }).catch(() => []));
      return (await Promise.all(inside)).flat().filter((name) => name.includes('file-'));
    },
    text: (file) => readFile(join(sshd.folder, file), 'utf8'),
  };
}

describe.each([
  ['a bucket', isAvailable('ceph-rgw', ceph), onBucket],
  ['a server by SFTP', isAvailable('sshd', sshd), onServer],
])('removals in %s', (_name, isThere, open) => {
  if (!isThere) return it.skip('need a server that is not here', () => {});
  let installation: Installation;
  let store: Store;
  const running: FsProcess[] = [];

  beforeAll(async () => {
    installation = await openInstallation();
    store = await open();
    await installation.login({ id: 1, permission: 0xffff });
    await installation.login({ id: 2, permission: 0xffff, base_path: '/r/theirs' });
    await installation.writeStorage({ _id: 1, mount_path: '/r', driver: store.driver, addition: store.addition });
  }, LIMIT_MS);
  afterEach(async () => {
    if (store) store.way.latencyMs = 0;
    for (const process of running.splice(0)) await process.stop();
  });
  afterAll(async () => {
    await store?.way.stop();
    await installation?.close();
  });

  const start = async () => {
    const process = await startFsProcess(installation);
    running.push(process);
    return process;
  };
  const until = (what: string, condition: () => Promise<boolean>) => waitFor(what, condition, { withinMs: LIMIT_MS });
  const tasksOf = async ({ tasks }: FsProcess, done: boolean) => {
    const found: Task[] = [];
    for await (const chunk of tasks.listTasks({ list: 'move', done, page: 1, per_page: 0 }, as())) found.push(...chunk.tasks);
    return found;
  };
  /** Asks for a removal, and answers the task that does it. */
  const begin = async (process: FsProcess, name: string) => {
    await until('the storage to be known', async () => {
      await process.fs.removeEntries({ dir: '/r', names: [name] }, as());
      return true;
    });
    const [task] = await tasksOf(process, false);
    if (!task) throw new Error('no task was made');
    expect(task.name).toBe(`remove [/r](/${name})`);
    return task.id;
  };
  const end = async (process: FsProcess, id: string) => {
    await until('the end', async () => [2, 4, 7].includes((await process.task('move', id)).state));
    return process.task('move', id);
  };

  it(
    'of a folder go on after the end of their worker, and leave what is beside it',
    async () => {
      await store.seed([...paths('doomed', store.count), ...paths('beside', 3)]);
      store.way.latencyMs = store.slowMs;
      const first = await start();
      const id = await begin(first, 'doomed');
      await until('a part to be removed', async () => (await store.files('doomed')).length < store.count);
      await first.kill();
      running.splice(running.indexOf(first), 1);
      expect((await store.files('doomed')).length).toBeGreaterThan(0);
      store.way.latencyMs = 0;
      const second = await start();
      expect(await end(second, id)).toMatchObject({ state: 2, error: '' });
      expect([await store.files('doomed'), (await store.files('beside')).length]).toEqual([[], 3]);
      const names: string[] = [];
      for await (const { entries } of second.fs.listEntries({ path: '/r', page: 1, refresh: false }, as()))
        names.push(...entries.map(({ name }) => name));
      expect(names).toContain('beside');
      expect(names).not.toContain('doomed');
    },
    LIMIT_MS * 2,
  );

  it(
    'stop where they are cancelled, and go on when they are tried again',
    async () => {
      await store.seed(paths('again', store.count));
      store.way.latencyMs = store.slowMs;
      const process = await start();
      const id = await begin(process, 'again');
      await until('a part to be removed', async () => (await store.files('again')).length < store.count);
      await process.tasks.controlTasks({ list: 'move', action: 'cancel', ids: [id] }, as());
      expect(await end(process, id)).toMatchObject({ state: 4 });
      store.way.latencyMs = 0;
      let left = -1;
      let unchanged = 0;
      await until('what was asked of the server before to be done', async () => {
        const before = left;
        left = (await store.files('again')).length;
        unchanged = left === before ? unchanged + 1 : 0;
        return unchanged === SETTLED_LOOKS;
      });
      expect(left).toBeGreaterThan(0);
      await Array.fromAsync(process.fs.listDirectories({ path: '/r', force_root: false }, as()));
      expect((await store.files('again')).length).toBe(left);
      await process.tasks.controlTasks({ list: 'move', action: 'retry', ids: [id] }, as());
      expect(await end(process, id)).toMatchObject({ state: 2, error: '' });
      expect(await store.files('again')).toEqual([]);
    },
    LIMIT_MS * 2,
  );

  it(
    'leave what is stored after they were answered',
    async () => {
      await store.seed([...paths('back', store.count), ...Array.from({ length: 150 }, (_, index) => `/names/file-${index}`)]);
      const process = await start();
      const putNew = async (...paths: string[]) => {
        for (const path of paths) {
          const headers = { ...headersAs(), 'file-path': path, 'content-type': 'application/octet-stream', 'content-length': 3 };
          const answer = await httpRequest(process.url, { method: 'PUT', path: '/api/fs/put', headers, body: Buffer.from('new') });
          expect(JSON.parse(answer.text())).toMatchObject({ code: 200 });
        }
      };
      store.way.latencyMs = 0;
      const names = Array.from({ length: 150 }, (_, index) => `file-${index}`);
      await until('the storage to be known', async () => {
        await process.fs.removeEntries({ dir: '/r/names', names }, as());
        return true;
      });
      await putNew('/r/names/file-149', '/r/names/file-0');
      store.way.latencyMs = store.slowMs;
      const id = await begin(process, 'back');
      store.way.latencyMs = 0;
      await putNew('/r/back/0/file-0', '/r/back/file-new');
      await process.fs.makeDirectory({ path: '/r/back/1' }, as());
      expect(await end(process, id)).toMatchObject({ state: 2, error: '' });
      await until('all tasks to end', async () => (await tasksOf(process, false)).length === 0);
      expect([(await store.files('back')).sort(), (await store.files('names')).sort()]).toEqual([
        ['0/file-0', 'file-new'],
        ['file-0', 'file-149'],
      ]);
      for (const file of ['back/0/file-0', 'back/file-new', 'names/file-0', 'names/file-149']) expect(await store.text(file)).toBe('new');
      const left: string[] = [];
      for await (const { entries } of process.fs.listEntries({ path: '/r/back', page: 1, refresh: true }, as()))
        left.push(...entries.map(({ name }) => name));
      expect(left.sort()).toEqual(['0', '1', 'file-new']);
    },
    LIMIT_MS * 2,
  );

  it(
    'end when their user may not remove any more',
    async () => {
      await store.seed(paths('theirs/kept', store.count));
      store.way.latencyMs = store.slowMs;
      const process = await start();
      const somebody = {
        kind: 'user',
        id: 2,
        username: 'user-2',
        role: 0,
        permission: 0xffff,
        basePath: '/r/theirs',
        sessionId: '',
      } as const;
      await until('the storage to be known', async () => {
        await process.fs.removeEntries({ dir: '/', names: ['kept'] }, as(somebody));
        return true;
      });
      const [task] = await tasksOf(process, false);
      await until('a part to be removed', async () => (await store.files('theirs/kept')).length < store.count);
      await installation.writeUser({ id: 2, permission: 0 });
      expect(await end(process, task?.id ?? '')).toMatchObject({ state: 7, error: expect.stringContaining('permission denied') });
      expect((await store.files('theirs/kept')).length).toBeGreaterThan(0);
    },
    LIMIT_MS * 2,
  );
});
