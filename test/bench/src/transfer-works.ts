import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type Api, api, at, makeTempDir, waitFor } from '@wharf/harness';
import type { Fixture } from './fixture.ts';
import type { LoadResult } from './load.ts';
import type { WharfServer } from './wharf-server.ts';
import type { Contender, Work, WorkName } from './works.ts';

export interface TransferOptions {
  readonly wharfs: readonly WharfServer[];
  readonly fixture: Fixture;
  readonly isQuick: boolean;
  readonly isWanted: (name: WorkName) => boolean;
  readonly keep: (stop: () => Promise<void>) => void;
}

const LIMIT_MS = 900_000;
const SUCCEEDED = 2;
const ENDED: readonly unknown[] = [SUCCEEDED, 4, 7];

/** Copies to another storage, which are tasks: one of a folder, and many of one small file each. */
export async function prepareTransferWorks({ wharfs, fixture, isQuick, isWanted, keep }: TransferOptions): Promise<Work[]> {
  if (wharfs.length === 0 || !(isWanted('copy-many') || isWanted('tasks'))) return [];
  const dir = await makeTempDir('bench-transfers');
  keep(() => dir.remove());
  const { many } = fixture.entries;
  const tasks = isQuick ? 100 : 1_000;
  const targets = new Map<WharfServer, Target>();
  for (const wharf of wharfs) targets.set(wharf, await makeTarget(wharf, join(dir.path, wharf.name)));
  const contenders = (copy: (target: Target) => Promise<LoadResult>): Contender[] =>
    [...targets].map(([server, target]) => ({
      server,
      request: { method: 'POST', path: '/api/fs/copy', headers: {}, expect: {} },
      drive: () => copy(target),
    }));
  const work = (name: WorkName, title: string, amount: number, copy: (target: Target) => Promise<LoadResult>): Work => ({
    name,
    title,
    amount: { connections: 1, requests: amount, limitMs: LIMIT_MS },
    warmUpRequests: 0,
    contenders: contenders(copy),
  });
  return [
    work('copy-many', `copy of a folder of ${many.toLocaleString('en')} files of 10 KiB to another storage`, many, (target) =>
      copyAll(target, { src_dir: '/local', names: ['many'] }, many, fixture.sizeBytes.each),
    ),
    work('tasks', `${tasks.toLocaleString('en')} tasks of one small file each, from the request to the last end`, tasks, async (target) =>
      copyAll(target, { src_dir: '/local/many', names: await firstNames(target.caller, tasks) }, tasks, fixture.sizeBytes.each),
    ),
  ];
}

/** An empty storage of one server. */
interface Target {
  readonly caller: Api;
  readonly mount: string;
  readonly root: string;
}

async function makeTarget(wharf: WharfServer, root: string): Promise<Target> {
  const caller = api(wharf.base, wharf.token);
  const mount = '/bench-target';
  await mkdir(root, { recursive: true });
  await caller.call('/api/admin/storage/create', {
    mount_path: mount,
    driver: 'Local',
    addition: JSON.stringify({ root_folder_path: root }),
  });
  return { caller, mount, root };
}

async function firstNames(caller: Api, count: number): Promise<unknown[]> {
  const content = at(await caller.call('/api/fs/list', { path: '/local/many', page: 1, per_page: count }), 'content');
  if (!Array.isArray(content)) throw new Error('the folder of many files cannot be listed');
  return content.map((entry: unknown) => at(entry, 'name'));
}

/** Copies to an empty folder and waits until every task has ended. */
async function copyAll({ caller, mount, root }: Target, request: object, requests: number, fileBytes: number): Promise<LoadResult> {
  await rm(join(root, 'round'), { recursive: true, force: true });
  await caller.call('/api/task/copy/clear_done', {});
  const startedAt = performance.now();
  await caller.call('/api/fs/copy', { ...request, dst_dir: `${mount}/round` });
  await waitFor('the copies', async () => (await listOf(caller, 'undone', 1)).length === 0, { withinMs: LIMIT_MS, everyMs: 100 });
  const elapsedMs = performance.now() - startedAt;
  const failed = (await listOf(caller, 'done')).filter((task) => ENDED.includes(at(task, 'state')) && at(task, 'state') !== SUCCEEDED);
  const failure = failed.length > 0 ? { failure: `${failed.length} tasks failed: ${at(failed[0], 'error')}` } : {};
  return { requests, elapsedMs, bodyBytes: requests * fileBytes, p50Ms: elapsedMs, p99Ms: elapsedMs, ...failure };
}

async function listOf(caller: Api, list: 'done' | 'undone', most = 100): Promise<unknown[]> {
  const { data } = await caller.get(`/api/task/copy/${list}?page=1&per_page=${most}`);
  return Array.isArray(data) ? data : [];
}
