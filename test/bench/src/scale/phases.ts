import { setTimeout as delay } from 'node:timers/promises';
import { login } from '@wharf/harness';
import { type EventStream, openEventStream } from '../../../e2e/support/event-stream.ts';
import { startSourceServer } from '../../../e2e/support/source-server.ts';
import type { ManyReplicas } from './many-replicas.ts';

/** Downloads that run while somebody watches at each gateway, and their bytes a second: they last longer than that is measured. */
const DOWNLOADS = 20;
const BYTES_PER_S = 100_000;
const FILE_BYTES = 64 * 1024 * 1024;
const LOGOUT_EVERY_MS = 2_000;
const ADD_EVERY_MS = 500;

/** What many replicas ask of one store by themselves, and for what people do. */
export interface Phase {
  readonly name: string;
  /** Begins it. @returns how it ends */
  begin(replicas: ManyReplicas): Promise<() => Promise<void>>;
}

export const PHASES: readonly Phase[] = [
  { name: 'at rest', begin: async () => async () => undefined },
  {
    name: `${DOWNLOADS} downloads run, and somebody watches at each gateway`,
    async begin({ admin, bases, adminPassword }) {
      const source = await startSourceServer();
      source.bytesPerSecond = BYTES_PER_S;
      source.files.set('/big', Buffer.alloc(FILE_BYTES));
      const streams: EventStream[] = [];
      for (const base of bases) streams.push(await openEventStream(base, '/api/task/events', await login(base, 'admin', adminPassword)));
      const urls = Array.from({ length: DOWNLOADS }, (_, index) => `${source.url}/big?${index}`);
      await add(admin, urls);
      return async () => {
        for (const stream of streams) stream.close();
        const undone = await admin.get('/api/task/offline_download/undone');
        const ids = Array.isArray(undone.data) ? undone.data.map((task: { id: string }) => task.id) : [];
        await admin.call('/api/task/offline_download/delete_some', ids);
        await source.close();
      };
    },
  },
  {
    name: `people work at each gateway, and one logs out every ${LOGOUT_EVERY_MS / 1000} s`,
    async begin({ bases, adminPassword }) {
      const callers = await Promise.all(bases.map((base) => login(base, 'admin', adminPassword)));
      const leavers = await Promise.all(Array.from({ length: 40 }, () => login(bases[0] ?? '', 'admin', adminPassword)));
      return every([
        [100, async () => void (await Promise.all(callers.map((caller) => caller.call('/api/fs/list', { path: '/' }))))],
        [LOGOUT_EVERY_MS, async () => void (await leavers.pop()?.get('/api/auth/logout'))],
      ]);
    },
  },
  {
    name: `a small download is added every ${ADD_EVERY_MS} ms`,
    async begin({ admin }) {
      const source = await startSourceServer();
      source.files.set('/small', Buffer.alloc(1_000));
      let added = 0;
      const addOne = () => {
        added += 1;
        return add(admin, [`${source.url}/small?${added}`]);
      };
      const end = every([[ADD_EVERY_MS, addOne]]);
      return async () => {
        await end();
        await source.close();
      };
    },
  },
];

async function add(admin: ManyReplicas['admin'], urls: readonly string[]): Promise<void> {
  await admin.call('/api/fs/add_offline_download', { urls, path: '/local', tool: 'SimpleHttp', delete_policy: 'delete_on_upload_succeed' });
}

/** Does things again and again. @returns how that ends; it throws what failed */
function every(works: readonly (readonly [ms: number, work: () => Promise<void>])[]): () => Promise<void> {
  const ending = new AbortController();
  const loops = works.map(async ([ms, work]) => {
    while (!ending.signal.aborted) {
      await work();
      await delay(ms, undefined, { signal: ending.signal }).catch(() => undefined);
    }
  });
  const all = Promise.all(loops);
  all.catch(() => undefined);
  return async () => {
    ending.abort();
    await all;
  };
}
