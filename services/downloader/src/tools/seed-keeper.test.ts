import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { startEmbeddedMongo } from '@wharf/embedded-mongo';
import { AppError } from '@wharf/errors';
import { makeTempDir } from '@wharf/harness';
import { connectStore } from '@wharf/service-kit';
import { pino } from 'pino';
import { afterEach, beforeEach, expect, it, onTestFinished, vi } from 'vitest';
import { createSeedStore, type SeedStore } from '../store/seed-store.ts';
import { createSeedKeeper } from './seed-keeper.ts';
import type { Tools } from './tools.ts';

beforeEach(() => void vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] }));
afterEach(() => void vi.useRealTimers());

it('ends with the torrent that it asks for, however many of a tool that is away are due again', async () => {
  let asked = 0;
  const nobodyAsks = () => Promise.reject(new Error('nobody asks'));
  const seeds: SeedStore = {
    ...{ init: nobodyAsks, add: nobodyAsks, endNow: nobodyAsks, leaveFile: nobodyAsks, end: nobodyAsks },
    ...{ giveUp: nobodyAsks, takeBack: nobodyAsks, postpone: nobodyAsks, beginRemoval: nobodyAsks, isAsTaken: nobodyAsks },
    takeDue: async (tool) =>
      tool === 'Transmission' && asked < 100
        ? { _id: 'task', tool: 'Transmission', tool_id: 'a', remove_at: null, left_files: [] }
        : undefined,
  };
  const { promise: isAsked, resolve } = Promise.withResolvers<void>();
  const { promise: failing, reject: fail } = Promise.withResolvers<never>();
  const get = () => {
    asked += 1;
    resolve();
    return failing;
  };
  const tools = { get } as unknown as Tools;
  const keeper = createSeedKeeper({ seeds, tools, toolsDir: '/tools', clock: Date.now, logger: pino({ enabled: false }) });
  keeper.start();
  await vi.advanceTimersByTimeAsync(60_000);
  await isAsked;
  const stopped = keeper.stop();
  fail(new Error('away'));
  await stopped;
  expect(asked).toBe(1);
});

it.each([
  ['goes with all of its folder, and what its tool has of it, when the tool is back', true],
  ['keeps both where it is tried again meanwhile', false],
])('a download that was given up %s', async (_, isThere) => {
  const dir = await makeTempDir('seed-keeper');
  onTestFinished(() => dir.remove());
  const folder = join(dir.path, 'aria2', 'task');
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, 'half'), 'a half');
  const removed: [string, boolean][] = [];
  const due = [{ _id: 'task', tool: 'aria2', tool_id: '', remove_at: null, left_files: [], is_given_up: true }];
  const { promise: isEnded, resolve: tellEnded } = Promise.withResolvers<void>();
  const seeds = {
    takeDue: async (tool: string) => (tool === 'aria2' ? due.pop() : undefined),
    isAsTaken: async () => true,
    async beginRemoval() {
      if (!isThere) tellEnded();
      return isThere;
    },
    async end() {
      // Until then it is not taken back: whoever tries it again would have its folder.
      expect(await readdir(join(dir.path, 'aria2'))).toEqual([]);
      tellEnded();
      return true;
    },
  } as unknown as SeedStore;
  const tools = {
    get: async () => ({
      version: async () => '',
      removeFrom: async (place: string, _signal: AbortSignal, deletesFiles: boolean) => void removed.push([place, deletesFiles]),
    }),
  } as unknown as Tools;
  const keeper = createSeedKeeper({ seeds, tools, toolsDir: dir.path, clock: Date.now, logger: pino({ enabled: false }) });
  keeper.start();
  vi.advanceTimersByTime(5_000);
  await isEnded;
  await keeper.stop();
  expect(removed).toEqual(isThere ? [[folder, true]] : []);
  expect(await readdir(join(dir.path, 'aria2'))).toEqual(isThere ? [] : ['task']);
});

it('a download that was given up is all there for whoever tries it again while its tool is away', async () => {
  const { promise: isPostponed, resolve } = Promise.withResolvers<void>();
  const due = [{ _id: 'task', tool: 'aria2', tool_id: '', remove_at: null, left_files: [], is_given_up: true }];
  const nobodyAsks = vi.fn();
  const seeds = {
    async takeDue(tool: string) {
      if (tool === 'aria2' && due.length === 0) resolve();
      return tool === 'aria2' ? due.pop() : undefined;
    },
    beginRemoval: nobodyAsks,
    end: nobodyAsks,
  } as unknown as SeedStore;
  const away = () => Promise.reject(new AppError('STORAGE_UNAVAILABLE', 'away'));
  const tools = { get: async () => ({ version: away, removeFrom: away }) } as unknown as Tools;
  const keeper = createSeedKeeper({ seeds, tools, toolsDir: '/tools', clock: Date.now, logger: pino({ enabled: false }) });
  keeper.start();
  vi.advanceTimersByTime(5_000);
  await isPostponed;
  await keeper.stop();
  expect(nobodyAsks).not.toHaveBeenCalled();
});

it('a torrent is taken out where its tool got it, though WHARF_TOOLS_DIR is another one by now, and its files go in both', async () => {
  const dir = await makeTempDir('seed-keeper');
  onTestFinished(() => dir.remove());
  const folders = ['before', 'now'].map((root) => join(dir.path, root, 'qbittorrent', 'task'));
  for (const folder of folders) {
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, 'film'), 'a film');
  }
  const due = [
    { ...{ _id: 'task', tool: 'qBittorrent', tool_id: 'a', tools_dir: join(dir.path, 'before') }, remove_at: null, left_files: ['film'] },
  ];
  const removed: string[] = [];
  const { promise: isEnded, resolve: tellEnded } = Promise.withResolvers<void>();
  const seeds = {
    takeDue: async (tool: string) => (tool === 'qBittorrent' ? due.pop() : undefined),
    isAsTaken: async () => true,
    end: async () => void tellEnded(),
  } as unknown as SeedStore;
  const remove = async (_id: string, place: string) => void removed.push(place);
  const tools = { get: async () => ({ remove }) } as unknown as Tools;
  const toolsDir = join(dir.path, 'now');
  const keeper = createSeedKeeper({ seeds, tools, toolsDir, clock: Date.now, logger: pino({ enabled: false }) });
  keeper.start();
  vi.advanceTimersByTime(5_000);
  await isEnded;
  await keeper.stop();
  expect(removed).toEqual([folders[0]]);
  for (const root of ['before', 'now']) expect(await readdir(join(dir.path, root, 'qbittorrent'))).toEqual([]);
});

it('a torrent that is brought once more while its tool is slow to let go of it keeps its files, which are to be transferred', async () => {
  const dir = await makeTempDir('seed-keeper');
  const store = await startEmbeddedMongo({ dataDir: join(dir.path, 'store') });
  const connection = await connectStore(store.url);
  onTestFinished(async () => {
    await connection.close();
    await store.stop();
    await dir.remove();
  });
  const folder = join(dir.path, 'qbittorrent', 'task');
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, 'film'), 'a film');
  const seeds = createSeedStore(connection);
  const seed = { taskId: 'task', tool: 'qBittorrent', toolId: 'a', toolsDir: dir.path };
  await seeds.add({ ...seed, removeAt: new Date(0) });
  await seeds.leaveFile('task', 'film');
  const [asked, letGo] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const remove = () => {
    asked.resolve();
    return letGo.promise;
  };
  const tools = { get: async () => ({ remove }) } as unknown as Tools;
  const keeper = createSeedKeeper({ seeds, tools, toolsDir: dir.path, clock: Date.now, logger: pino({ enabled: false }) });
  keeper.start();
  vi.advanceTimersByTime(5_000);
  await asked.promise;
  const removeAt = new Date(Date.now() + 60_000);
  await seeds.add({ ...seed, removeAt });
  letGo.resolve();
  await new Promise(setImmediate);
  await keeper.stop();
  expect(await readdir(folder)).toEqual(['film']);
  expect(await seeds.takeDue('qBittorrent', removeAt, new Date(0))).toMatchObject({ left_files: ['film'] });
});

it('torrents of a tool that is configured no more are warned of once, and asked for again an hour later', async () => {
  const due = ['one', 'two'].map((_id) => ({ _id, tool: 'aria2', tool_id: 'a', remove_at: null, left_files: [] }));
  const postponed: [string, number][] = [];
  const { promise: allSeen, resolve: seeAll } = Promise.withResolvers<void>();
  const seeds = {
    takeDue: async (tool: string) => {
      if (tool !== 'aria2') return undefined;
      if (due.length === 0) seeAll();
      return due.pop();
    },
    postpone: async (id: string, _: Date, until: Date) => void postponed.push([id, until.getTime()]),
  } as unknown as SeedStore;
  const tools = { get: () => Promise.reject(new AppError('INVALID_ARGUMENT', 'the address must start with http:// or https://')) };
  const lines: string[] = [];
  const logger = pino({}, { write: (line) => void lines.push(line) });
  const keeper = createSeedKeeper({ seeds, tools: tools as unknown as Tools, toolsDir: '/tools', clock: () => 5, logger });
  keeper.start();
  vi.advanceTimersByTime(5_000);
  await allSeen;
  await keeper.stop();
  expect(postponed).toEqual([
    ['two', 3_600_005],
    ['one', 3_600_005],
  ]);
  expect(lines).toHaveLength(1);
});

it('a tool that answers slowly holds up neither those of another one nor the end', async () => {
  const due = new Map(
    ['aria2', 'Transmission'].map((tool) => [tool, { _id: `of-${tool}`, tool, tool_id: 'a', remove_at: null, left_files: [] }]),
  );
  const { promise: isEnded, resolve: tellEnded } = Promise.withResolvers<string>();
  const seeds = {
    takeDue: async (tool: string) => {
      const seed = due.get(tool);
      due.delete(tool);
      return seed;
    },
    isAsTaken: async () => true,
    end: async ({ _id }: { _id: string }) => void tellEnded(_id),
  } as unknown as SeedStore;
  const never = new Promise<void>(() => undefined);
  const tools = { get: async (tool: string) => ({ remove: async () => (tool === 'aria2' ? never : undefined) }) } as unknown as Tools;
  const keeper = createSeedKeeper({ seeds, tools, toolsDir: '/tools', clock: Date.now, logger: pino({ enabled: false }) });
  keeper.start();
  vi.advanceTimersByTime(5_000);
  expect(await isEnded).toBe('of-Transmission');
  await keeper.stop();
});
