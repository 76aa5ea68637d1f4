import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { startEmbeddedMongo } from '@wharf/embedded-mongo';
import { AppError } from '@wharf/errors';
import { makeTempDir } from '@wharf/harness';
import { makeIndexes, settingsFrom, taskModelsOf } from '@wharf/models';
import { ROLE } from '@wharf/rights';
import { connectStore, createLocalBus, NO_TRACING } from '@wharf/service-kit';
import { TASK_STATE, type TaskCreator } from '@wharf/task-engine';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { expect, it } from 'vitest';
import { BUILT_IN_TOOL, downloadInput } from '../src/domain/download-input.ts';
import { createDownloadTasks, type DownloadTaskOptions, keysOfDownload } from '../src/tasks/download-tasks.ts';
import { transferInput } from '../src/tasks/transfer-run.ts';
import { documentsRead } from './documents-read.ts';

const inputFor = (tool: string) =>
  downloadInput.parse({
    ...{ url: 'sealed', tool, directory: '/', mountPath: '/', innerPath: '/', deletePolicy: 'delete_never', digests: {} },
  });

it.each([
  ['SimpleHttp', 0, 0, 4],
  ['SimpleHttp', 3, 0, 2],
  ['SimpleHttp', 1, 0, 1],
  ['aria2', 3, 0, 2],
  ['aria2', 0, 0, 63],
  ['SimpleHttp', 0, 5, 5],
])('of the places of %s (%i, and %i for each user) one user has %i', async (tool, perTool, perUser, share) => {
  const dir = await makeTempDir('download-tasks');
  const engine = await startEmbeddedMongo({ dataDir: dir.path });
  const store = await connectStore(Object.assign(new URL(engine.url), { pathname: '/downloads' }).href);
  const running: string[] = [];
  const run = async ({ creator, signal }: { creator: TaskCreator | undefined; signal: AbortSignal }) => {
    running.push(creator?.name ?? '');
    await once(signal, 'abort');
    signal.throwIfAborted();
  };
  const drop = async () => {};
  const tasks = createDownloadTasks(
    { store, bus: createLocalBus(() => {}), logger: pino({ enabled: false }), metrics: new Registry(), tracing: NO_TRACING },
    {
      requireTarget: drop,
      fetches: { run, drop },
      toolDownloads: { run, drop },
      transfers: { run: drop, end: drop, unreadable: () => [] },
      settings: async () => settingsFrom({ _id: 'settings', revision: 1, items: [] }),
      ...{ avoidedTools: () => [], perUser, perTool },
    },
  );
  await tasks.engine.start();
  const add = (id: number, name: string, count: number) =>
    tasks.engine.addAll(
      tasks.kindOf(tool),
      Array.from({ length: count }, () => ({
        ...{ name: 'download', creator: { id, name, role: ROLE.general }, keys: keysOfDownload(tool, id) },
        input: inputFor(tool),
      })),
    );
  await add(1, 'bob', 70);
  await expect.poll(() => running.length, { timeout: 20_000 }).toBe(share);
  await add(2, 'eve', 1);
  // In one place they take turns, and with a number for each user there may be none left.
  const others = share === 1 || perUser > 0 ? 0 : 1;
  if (others > 0) await expect.poll(() => running, { timeout: 20_000 }).toContain('eve');
  expect(running.filter((name) => name === 'bob')).toHaveLength(share);
  await tasks.engine.stop();
  await store.close();
  await engine.stop();
  await dir.remove();
});

const parent = { id: randomUUID(), creator: { id: 1, name: 'admin', role: ROLE.admin } };
const resultsOf = (count: number) =>
  Array.from({ length: count }, (_, index) =>
    transferInput.parse({
      ...{ parent: parent.id, tool: 'aria2', name: `film ${index}` },
      ...{ directory: '/in', mountPath: '/', innerPath: '/in', deletePolicy: 'delete_never' },
    }),
  );

/** Replicas over a store of their own, whose tasks do nothing. */
async function openDownloads(tasksOfAll?: number, rest: Partial<DownloadTaskOptions> = {}) {
  const dir = await makeTempDir('download-tasks');
  const engine = await startEmbeddedMongo({ dataDir: dir.path });
  const store = await connectStore(Object.assign(new URL(engine.url), { pathname: '/downloads' }).href);
  const nothing = async () => {};
  const open = () =>
    createDownloadTasks(
      { store, bus: createLocalBus(() => {}), logger: pino({ enabled: false }), metrics: new Registry(), tracing: NO_TRACING },
      {
        requireTarget: nothing,
        fetches: { run: nothing, drop: nothing },
        toolDownloads: { run: nothing, drop: nothing },
        transfers: { run: nothing, end: nothing, unreadable: () => [] },
        settings: async () => settingsFrom({ _id: 'settings', revision: 1, items: [] }),
        avoidedTools: () => [],
        perUser: 0,
        perTool: 0,
        tasksOfAll,
        ...rest,
      },
    );
  const close = async () => {
    await store.close();
    await engine.stop();
    await dir.remove();
  };
  return { store, open, close };
}

it.each([BUILT_IN_TOOL, 'aria2'])(
  'C8: what somebody queued who may have nothing brought there any more is not fetched, by %s',
  async (tool) => {
    const [begun, ended]: [string[], string[]] = [[], []];
    const work = {
      run: async ({ creator }: { creator: TaskCreator | undefined }) => void begun.push(creator?.name ?? ''),
      drop: async ({ creator }: { creator: TaskCreator | undefined }) => void ended.push(creator?.name ?? ''),
    };
    const { open, close } = await openDownloads(undefined, {
      fetches: work,
      toolDownloads: work,
      async requireTarget({ creator, input }) {
        if (creator?.id === 1) throw new AppError('PERMISSION_DENIED', `permission denied: ${input.directory}`);
      },
    });
    const { engine, kindOf } = open();
    await engine.start();
    for (const id of [1, 2])
      await engine.add(kindOf(tool), { name: 'download', creator: { id, name: `user-${id}`, role: ROLE.general }, input: inputFor(tool) });
    await expect.poll(() => [begun.length, ended.length], { timeout: 20_000 }).toEqual([1, 1]);
    expect([begun, ended]).toEqual([['user-2'], ['user-1']]);
    await engine.stop();
    await close();
  },
);

it.each([BUILT_IN_TOOL, 'aria2'])(
  'what is being fetched by %s ends when its user may have nothing brought there any more',
  async (tool) => {
    const [begun, ended]: [string[], string[]] = [[], []];
    const work = {
      async run({ creator, signal }: { creator: TaskCreator | undefined; signal: AbortSignal }) {
        begun.push(creator?.name ?? '');
        if (!signal.aborted) await once(signal, 'abort');
        throw new Error('it was aborted');
      },
      drop: async ({ creator }: { creator: TaskCreator | undefined }) => void ended.push(creator?.name ?? ''),
    };
    const { open, close } = await openDownloads(undefined, {
      ...{ fetches: work, toolDownloads: work, askAgainMs: 10 },
      async requireTarget({ creator }) {
        if (creator?.id === 1 && begun.length === 2) throw new AppError('PERMISSION_DENIED', 'the user is disabled');
      },
    });
    const { engine, kindOf } = open();
    await engine.start();
    const add = (id: number) =>
      engine.add(kindOf(tool), { name: 'download', creator: { id, name: `user-${id}`, role: ROLE.general }, input: inputFor(tool) });
    const [{ _id: first }, { _id: other }] = [await add(1), await add(2)];
    const taskOf = (id: string) => engine.control.get(id, 'offline_download', { creatorId: undefined });
    await expect.poll(async () => (await taskOf(first)).state, { timeout: 20_000 }).toBe(TASK_STATE.failed);
    expect(await taskOf(first)).toMatchObject({ error: 'the user is disabled' });
    expect([begun.toSorted(), ended, (await taskOf(other)).state]).toEqual([['user-1', 'user-2'], ['user-1'], TASK_STATE.running]);
    await engine.stop();
    await close();
  },
);

it('a download that is given up when its results were handed over is fetched once more when it is tried again', async () => {
  const begunWith: boolean[] = [];
  const { open, close } = await openDownloads(undefined, {
    toolDownloads: {
      async run(_run, saved, save) {
        begunWith.push(saved !== undefined);
        await save({ toolId: 'id', isFinished: true, isHandedOver: true });
        if (begunWith.length === 1) throw new AppError('PERMISSION_DENIED', 'permission denied');
      },
      drop: (_run, _saved, forget) => forget(),
    },
  });
  const { engine, kindOf } = open();
  await engine.start();
  const task = { name: 'download', creator: { id: 1, name: 'bob', role: ROLE.general }, input: inputFor('aria2') };
  const { _id: id } = await engine.add(kindOf('aria2'), task);
  const stateOf = async () => (await engine.control.get(id, 'offline_download', { creatorId: undefined })).state;
  await expect.poll(stateOf, { timeout: 20_000 }).toBe(TASK_STATE.failed);
  await engine.apply('retry', [id], 'offline_download', { creatorId: undefined });
  await expect.poll(stateOf, { timeout: 20_000 }).toBe(TASK_STATE.succeeded);
  expect(begunWith).toEqual([false, false]);
  await engine.stop();
  await close();
});

it('a worker that was held up while it queued transfers queues none of them twice', async () => {
  const { store, open, close } = await openDownloads();

  const results = resultsOf(20);
  // Each has looked at what is queued before any of them has queued anything.
  await Promise.all([open(), open(), open()].map((worker) => worker.queueTransfers(parent, results)));
  const queued = await taskModelsOf(store, 'downloader').tasks.find().lean<{ name: string }[]>();
  expect(queued.map(({ name }) => name).sort()).toEqual(results.map(({ name }) => `transfer [](/${name}) to [/](/in)`).sort());
  await close();
});

it('a download that is begun anew waits for its transfers of the time before, and queues them once more', async () => {
  const { store, open, close } = await openDownloads();
  const { queueTransfers, requireTransferred } = open();
  const { tasks } = taskModelsOf(store, 'downloader');
  const first = { ...parent, round: 'one' };
  await requireTransferred(parent.id);
  for (const _time of [1, 2]) await queueTransfers(first, resultsOf(3));
  expect(await tasks.countDocuments()).toBe(3);
  await expect(requireTransferred(parent.id)).rejects.toMatchObject({ details: { postponedMs: 30_000 } });
  await tasks.updateOne({}, { $set: { paused: true } });
  await expect(requireTransferred(parent.id)).rejects.toThrow('waits until what it brought before is transferred');
  await tasks.updateMany({}, { $set: { paused: true } });
  await expect(requireTransferred(parent.id)).rejects.toThrow('waits until its paused transfers are resumed or cancelled');
  await tasks.updateMany({}, { $set: { done: true } });
  await requireTransferred(parent.id);
  for (const _time of [1, 2]) await queueTransfers({ ...first, round: 'two' }, resultsOf(3));
  expect(await tasks.countDocuments()).toBe(6);
  await close();
});

it('the transfers of a download are found, and none of the downloads that wait is looked at', async () => {
  const { store, open, close } = await openDownloads();
  const { engine, kindOf, queueTransfers, requireTransferred } = open();
  await makeIndexes(taskModelsOf(store, 'downloader').tasks);
  const creator = { id: 1, name: 'bob', role: ROLE.general };
  const waiting = { name: 'download', creator, keys: keysOfDownload('aria2', 1), input: inputFor('aria2') };
  await engine.addAll(
    kindOf('aria2'),
    Array.from({ length: 300 }, () => waiting),
  );
  const from = await documentsRead(store);
  await requireTransferred(parent.id);
  await queueTransfers(parent, resultsOf(3));
  await expect(requireTransferred(parent.id)).rejects.toThrow('transferred');
  expect((await documentsRead(store)) - from).toBeLessThan(20);
  await close();
});

it('transfers that find no room in the queue have their download wait for it, and have more room than what is new', async () => {
  const { open, close } = await openDownloads(8);
  const { queueTransfers } = open();
  await queueTransfers(parent, resultsOf(10));
  await expect(queueTransfers(parent, resultsOf(11))).rejects.toMatchObject({
    message: 'waits until other tasks have ended',
    details: { postponedMs: 30_000 },
  });
  // One whose results would find none in an empty queue either does not wait for ever.
  const other = { ...parent, id: randomUUID() };
  await expect(queueTransfers(other, resultsOf(11))).rejects.toMatchObject({
    message: '11 tasks at a time are too many: there may be 10',
    details: { isTooMany: true },
  });
  await close();
});
