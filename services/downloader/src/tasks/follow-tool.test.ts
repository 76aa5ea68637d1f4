import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readdir, writeFile } from 'node:fs/promises';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { createEgressPolicy, createGuardedClient } from '@wharf/egress';
import { AppError } from '@wharf/errors';
import { makeTempDir, type TempDir } from '@wharf/harness';
import { collectGarbage } from '@wharf/pace';
import { seal } from '@wharf/service-kit';
import type { TaskProgress } from '@wharf/task-engine';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { downloadInput } from '../domain/download-input.ts';
import type { KeepReserve } from '../fetch/disk-reserve.ts';
import type { ExternalTool, ToolStatus } from '../tools/external-tool.ts';
import { toolFolder } from '../tools/tool-folder.ts';
import { followTool } from './follow-tool.ts';

let dir: TempDir;
beforeEach(async () => {
  dir = await makeTempDir('follow-tool');
});
afterEach(() => dir.remove());

const ACTIVE: ToolStatus = { state: 'active', doneBytes: 0, totalBytes: 1, detail: '', error: '' };

/** A tool that answers so to every look; what is asked of it and each pause is written down. */
async function follow(
  answer: (look: number) => ToolStatus | undefined,
  options: {
    known?: string;
    needsReplica?: boolean;
    keepReserve?: KeepReserve;
    signal?: AbortSignal;
    resume?: () => Promise<void>;
    remove?: () => Promise<void>;
    url?: string;
    userId?: number;
    progress?: (progress: TaskProgress) => void;
    assertLease?: () => Promise<void>;
    /** Of those that it is complete: after so many its files are in their folder. */
    absentLooks?: number;
    taskId?: string;
  } = {},
) {
  const asked: string[] = [];
  const counted: number[] = [];
  let looks = 0;
  let absentLooks = options.absentLooks ?? 0;
  const folder = toolFolder(dir.path, 'aria2', options.taskId ?? 'task');
  const tool: ExternalTool = {
    name: 'aria2',
    kinds: new Set(['magnet', 'torrent'] as const),
    needsReplica: options.needsReplica ?? false,
    async add() {
      asked.push('add');
      return 'id';
    },
    async find() {
      asked.push('find');
      looks += 1;
      const status = answer(looks);
      if (status?.state === 'complete' && absentLooks-- === 0) {
        await folder.make();
        await writeFile(join(folder.path, 'film'), '');
      }
      return status;
    },
    pause: async () => {},
    resume: options.resume ?? (async () => {}),
    async remove(_id, _directory, _signal, deletesFiles) {
      asked.push(deletesFiles ? 'remove with files' : 'remove');
      await options.remove?.();
    },
    removeFrom: async () => {},
    version: async () => '',
  };
  const atRest = randomBytes(32);
  const policy = createEgressPolicy({ allow: ['127.0.0.1'], forbidden: [], audience: 'user' });
  const context = {
    kit: { keys: { atRest } },
    openNetwork: () => ({ policy, client: createGuardedClient(policy, { maxConnections: 1 }), headersTimeoutMs: 1_000 }),
    onBytes: (_tool: string, bytes: number) => void counted.push(bytes),
    keepReserve: options.keepReserve ?? (async () => {}),
    pause: async <T>(_ms?: number, value?: T) => {
      asked.push('pause');
      return value as T;
    },
  };
  const run = {
    input: downloadInput.parse({
      ...{ url: seal(atRest, options.url ?? `magnet:?xt=urn:btih:${'a'.repeat(40)}`), tool: 'aria2', deletePolicy: 'delete_never' },
      ...{ directory: '/in', mountPath: '/', innerPath: '/in' },
    }),
    creator: options.userId === undefined ? undefined : { id: options.userId, name: '', role: 0 },
    signal: options.signal ?? new AbortController().signal,
    progress: options.progress ?? (() => {}),
    assertLease: options.assertLease ?? (async () => {}),
  };
  const ended = await followTool(context, run, tool, folder, options.known ?? '', async () => {}).catch((error: Error) => error.message);
  return { asked, ended, counted };
}

it.each([
  ['names one successor after another', () => ({ ...ACTIVE, followedBy: 'next' }), 11, 'aria2 hands the download on and on'],
  ['loses the download each time', () => undefined, 6, 'aria2 loses the download again and again'],
  [
    'does both',
    (look: number) => (look % 2 ? { ...ACTIVE, followedBy: 'next' } : undefined),
    12,
    'aria2 loses the download again and again',
  ],
] as const)('a tool that %s is given up, and not asked without a pause', async (_what, answer, looks, message) => {
  const { asked, ended } = await follow(answer);
  expect(ended).toBe(message);
  expect(asked.filter((each) => each === 'find')).toHaveLength(looks);
  expect(asked.some((each, index) => each === 'find' && asked[index - 1] === 'find')).toBe(false);
  expect(asked.filter((each) => each === 'pause')).toHaveLength(looks - 1);
});

it('a torrent follows its magnet link, and a download that was lost is begun once more', async () => {
  const statuses = [{ ...ACTIVE, followedBy: 'torrent' }, undefined, ACTIVE, { ...ACTIVE, state: 'complete' as const }];
  const { ended } = await follow((look) => statuses[look - 1]);
  expect(ended).toBe('id');
});

it('one that an earlier worker left to a tool without its files is begun anew after a pause', async () => {
  const { asked } = await follow((look) => (look === 1 ? ACTIVE : { ...ACTIVE, state: 'complete' }), { known: 'old', needsReplica: true });
  expect(asked).toEqual(['find', 'remove', 'pause', 'add', 'find']);
});

it('one that takes of the reserve of the disk is ended, and what it brought goes', async () => {
  let looks = 0;
  const keepReserve: KeepReserve = async (giveUp) => {
    looks += 1;
    if (looks < 3) return;
    await giveUp();
    throw new AppError('QUOTA_EXCEEDED', 'no room');
  };
  const { asked, ended } = await follow(() => ACTIVE, { keepReserve });
  expect(asked.slice(-3)).toEqual(['pause', 'find', 'remove with files']);
  expect(ended).toBe('no room');
  await expect(readdir(join(dir.path, 'aria2', 'task'))).rejects.toMatchObject({ code: 'ENOENT' });
});

it('one whose files its tool still moves to their folder is looked at again, and given up where they do not come', async () => {
  const complete: ToolStatus = { ...ACTIVE, state: 'complete' };
  const moving = await follow(() => complete, { absentLooks: 5 });
  expect([moving.ended, moving.asked.filter((each) => each === 'find')]).toEqual(['id', Array(6).fill('find')]);
  const { ended, asked } = await follow(() => complete, { absentLooks: Number.POSITIVE_INFINITY, taskId: 'other' });
  expect(ended).toBe('aria2 has finished, but its files are not in the folder that Wharf reads');
  expect([asked.filter((each) => each === 'find').length, asked.includes('remove')]).toEqual([61, false]);
});

it('who has lost a download, and was not told yet, leaves what it brought to whoever has it by then', async () => {
  const assertLease = () => Promise.reject(new AppError('CANCELLED', 'another worker has this task'));
  const { ended, asked } = await follow(() => ACTIVE, { keepReserve: (giveUp) => giveUp(), assertLease });
  expect([ended, asked.includes('remove with files')]).toEqual(['another worker has this task', false]);
  expect(await readdir(join(dir.path, 'aria2', 'task'))).toEqual([]);
});

it('one that is cancelled while a download is ended for the reserve does not wait for that', async () => {
  const gone = new AbortController();
  const keepReserve: KeepReserve = () => {
    gone.abort(new Error('cancelled'));
    return new Promise(() => undefined);
  };
  const { ended } = await follow(() => ACTIVE, { keepReserve, signal: gone.signal });
  expect(ended).toBe('cancelled');
});

const lost = () => Promise.reject(new AppError('DEADLINE_EXCEEDED', 'no answer within 4 s'));
const PAUSED: ToolStatus = { ...ACTIVE, state: 'paused' };

it.each([
  ['to resume it', PAUSED, { resume: lost }],
  ['to take one out that it began before', ACTIVE, { known: 'old', needsReplica: true, remove: lost }],
  ['to take one out for the reserve of the disk', ACTIVE, { keepReserve: (giveUp: () => Promise<void>) => giveUp(), remove: lost }],
])('a tool that shows a download, and does not answer when it is told %s, is given up', async (_what, status, options) => {
  const { asked, ended } = await follow((look) => (look < 100 ? status : { ...ACTIVE, state: 'complete' }), options);
  expect(ended).toBe('no answer within 4 s');
  expect(asked.filter((each) => each === 'find')).toHaveLength(6);
});

it('a download that stays paused however often it is resumed is given up by name, and one that goes on now and then is not', async () => {
  const complete = { ...ACTIVE, state: 'complete' as const };
  expect((await follow((look) => (look < 200 ? PAUSED : complete))).ended).toBe('aria2 does not go on with the download');
  expect((await follow((look) => (look === 200 ? complete : look % 60 ? PAUSED : ACTIVE))).ended).toBe('id');
});

it('numbers of bytes that no download has are not counted', async () => {
  const told = [5, 1e308, -1e308, 0.5, 9, Number.MAX_SAFE_INTEGER + 1, 12];
  const { ended, counted } = await follow((look) => ({
    ...ACTIVE,
    doneBytes: told[look - 1] ?? 12,
    state: look > 7 ? 'complete' : 'active',
  }));
  expect([ended, counted]).toEqual(['id', [4, 3]]);
});

it('what is shown of a download keeps nothing else of what its tool says of it in memory', async () => {
  const shown: TaskProgress[] = [];
  const answer = (look: number) => {
    const status = { ...ACTIVE, detail: JSON.parse(JSON.stringify('x'.repeat(2_000_000))) + look };
    return look < 50 ? status : { ...ACTIVE, state: 'complete' as const };
  };
  collectGarbage('regular');
  const before = process.memoryUsage().heapUsed;
  await follow(answer, { progress: (progress) => void shown.push(progress) });
  collectGarbage('regular');
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(20_000_000);
  expect(shown).toHaveLength(50);
});

it('torrent files are not in memory all at a time, and those of one user hold up neither a cancel nor another user', async () => {
  const waiting: ServerResponse[] = [];
  const server = createServer((_request, response) => void waiting.push(response.writeHead(200, { 'Content-Length': 100 })));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  try {
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/x.torrent`;
    const complete = () => ({ ...ACTIVE, state: 'complete' as const });
    const [leaving, staying] = [new AbortController(), new AbortController()];
    const held = Array.from({ length: 10 }, () => follow(complete, { url, userId: 1, signal: staying.signal }));
    await expect.poll(() => waiting.length).toBe(2);
    const left = follow(complete, { url, userId: 1, signal: leaving.signal });
    leaving.abort(new Error('cancelled'));
    expect((await left).ended).toBe('cancelled');
    const other = follow(complete, { url, userId: 2 });
    await expect.poll(() => waiting.length).toBe(3);
    expect((await follow(complete)).ended).toBe('id');
    for (const response of waiting) response.end('x'.repeat(100));
    expect((await other).ended).toBe('this is not a torrent file');
    staying.abort(new Error('cancelled'));
    await Promise.all(held);
    expect(waiting.length).toBeLessThan(10);
  } finally {
    server.closeAllConnections();
    server.close();
  }
});
