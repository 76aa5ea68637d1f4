import { makeIndexes, taskModelsOf } from '@wharf/models';
import { connectStore, type StoreConnection } from '@wharf/service-kit';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { z } from 'zod';
import { createHousekeeping } from '../src/housekeeping.ts';
import { defineTaskKind } from '../src/index.ts';
import { openCounts } from '../src/open-counts.ts';
import { createStoreClock } from '../src/store-clock.ts';
import { createTaskControl } from '../src/task-control.ts';
import { TASK_STATE } from '../src/task-state.ts';
import { documentsRead } from './documents-read.ts';
import { ANN, EVERYBODY, gate, type Installation, openOwnInstallation } from './installation.ts';

const COUNT = 400;

let place: Installation;
let connection: StoreConnection;
/** How many tasks each update names, as it was sent. */
const sent: number[] = [];
const asked: string[] = [];
/** How many tasks each cursor was asked for. */
const readAtATime: number[] = [];
/** At how many tasks that it names a question looks. */
const looks: number[] = [];
/** They go through all tasks in one turn of the store. */
const IN_ONE_TURN = ['distinct', 'aggregate'];

beforeAll(async () => {
  place = await openOwnInstallation('cost-of-changing');
  const url = new URL(place.url);
  url.searchParams.set('monitorCommands', 'true');
  connection = await connectStore(url.href);
  connection.getClient().on('commandStarted', ({ commandName, command }) => {
    asked.push(commandName);
    if (commandName === 'find' && Array.isArray(command.filter._id?.$in)) looks.push(command.filter._id.$in.length);
    if (commandName === 'getMore') readAtATime.push(command.batchSize);
    if (commandName !== 'update') return;
    for (const { multi } of command.updates) expect(multi ?? false).toBe(false);
    sent.push(command.updates.length);
  });
});
afterAll(async () => {
  await connection?.close();
  await place?.close();
});
beforeEach(async () => {
  const { tasks } = place.models;
  await tasks.deleteMany({});
  await makeIndexes(tasks);
  const at = new Date(Date.now() - 60_000);
  const failed = { kind: 'copy', list: 'copy', creator_id: ANN.id, state: TASK_STATE.failed, done: true, end_time: at };
  const times = { run_at: at, created_at: at, updated_at: at, lease_until: at };
  await tasks.create(Array.from({ length: COUNT }, (_, index) => ({ _id: `task ${index}`, ...failed, ...times })));
  for (const list of [sent, asked, readAtATime]) list.length = 0;
});

const mine = { creatorId: ANN.id };

it.each<[string, (control: ReturnType<typeof createTaskControl>) => Promise<void>, object, number]>([
  ['are cleared', (control) => control.clear('copy', [TASK_STATE.failed], mine), { forget: true }, 3],
  ['their user retries', (control) => control.retryFailed('copy', mine), { state: TASK_STATE.waitingRetry, done: false }, 3],
  ['are retried', (control) => control.retryFailed('copy', EVERYBODY), { state: TASK_STATE.waitingRetry, done: false }, 4],
  ['are too many', () => createHousekeeping(taskModelsOf(connection, 'fs'), clockOf(), ['copy'], 1).run(), { forget: true }, 4],
])(
  'tasks that %s at once are changed a few at a time, and others find the store free in between',
  async (_what, change, after, timesRead) => {
    const clock = createStoreClock(connection);
    await clock.sync();
    const before = await documentsRead(place.url);
    await change(createTaskControl(taskModelsOf(connection, 'fs'), clock, async () => () => {}));
    expect(await place.models.tasks.countDocuments(after)).toBe(COUNT);
    expect(Math.max(...sent)).toBeLessThanOrEqual(50);
    expect(asked.filter((name) => IN_ONE_TURN.includes(name))).toEqual([]);
    expect(sent.reduce((sum, count) => sum + count, 0)).toBe(COUNT);
    // Each is found, and then looked at by its id; whose they are is asked where that may be anybody.
    expect((await documentsRead(place.url)) - before).toBeLessThan((timesRead + 1) * COUNT);
  },
);

it.each<[string, () => Promise<unknown>]>([
  ['what only another replica could do is given up', giveUpForeign],
  ['tasks that have not ended are counted', () => openCounts(taskModelsOf(connection, 'fs'), () => Date.now())],
])('where %s, others find the store free in between', async (_what, work) => {
  const longAgo = new Date(Date.now() - 172_800_000);
  const waits = { kind: 'of-another', state: TASK_STATE.pending, waiting: true, done: false, end_time: null, run_at: longAgo };
  await place.models.tasks.updateMany({}, { $set: { ...waits, updated_at: longAgo } });
  await work();
  expect(asked.filter((name) => IN_ONE_TURN.includes(name))).toEqual([]);
  expect(readAtATime.length).toBeGreaterThanOrEqual(COUNT / 50 - 1);
  expect(Math.max(...readAtATime)).toBeLessThanOrEqual(50);
  expect(Math.max(0, ...sent)).toBeLessThanOrEqual(50);
});

it('of tasks that another replica works on no more are read than tell so, and the store does not keep the rest ready', async () => {
  const longAgo = new Date(Date.now() - 172_800_000);
  await place.models.tasks.updateMany({}, { $set: { kind: 'of-another', run_at: longAgo, updated_at: longAgo } });
  // What is written last is mostly what was due last.
  await place.models.tasks.updateOne({ _id: `task ${COUNT - 1}` }, { $set: { run_at: new Date(), updated_at: new Date() } });
  let nowMs = 0;
  const housekeeping = createHousekeeping(taskModelsOf(connection, 'fs'), clockOf(), ['copy'], undefined, () => nowMs);
  nowMs = 600_000;
  await housekeeping.run();
  expect([readAtATime, asked.includes('killCursors')]).toEqual([[], true]);
});

it('whoever cancels many at once waits for those that have not ended, and a look is at a few of them', async () => {
  const ended = gate();
  const slow = defineTaskKind({ name: 'slow', input: z.object({}), maxRetries: 0, run: () => ended.opened });
  const engine = await place.open([slow], { store: connection });
  const { _id: id } = await engine.add(slow, { name: 'slow', creator: ANN, input: {} });
  await place.untilState(id, TASK_STATE.running);
  const waits = { list: 'slow', state: TASK_STATE.pending, waiting: true, done: false, end_time: null };
  await place.models.tasks.updateMany({ kind: 'copy' }, { $set: waits });
  looks.length = 0;
  await engine.apply('cancel', [...Array.from({ length: COUNT }, (_, index) => `task ${index}`), id], 'slow', EVERYBODY);
  ended.open();
  expect(looks.length).toBeGreaterThan(0);
  expect(Math.max(...looks)).toBeLessThanOrEqual(50);
});

it('lists of one user are gone through one at a time, and no further once nobody waits for that', async () => {
  const engine = await place.open([], { store: connection });
  const ids = Array.from({ length: COUNT }, (_, index) => `none ${index}`);
  const open = new Set<number>();
  let most = 0;
  const client = connection.getClient();
  client.on('commandStarted', ({ commandName, command, requestId }) => {
    if (commandName === 'find' && ids.includes(command.filter._id)) open.add(requestId);
    most = Math.max(most, open.size);
  });
  client.on('commandSucceeded', ({ requestId }) => open.delete(requestId));
  const found = await Promise.all([1, 2, 3].map(() => engine.apply('cancel', ids, 'copy', mine)));
  expect(found.map(({ size }) => size)).toEqual([COUNT, COUNT, COUNT]);
  expect(most).toBeLessThanOrEqual(16);
  most = 0;
  expect(await engine.apply('cancel', ids, 'copy', mine, AbortSignal.abort())).toEqual(new Map());
  expect(most).toBe(0);
});

async function giveUpForeign(): Promise<void> {
  let nowMs = 0;
  const housekeeping = createHousekeeping(taskModelsOf(connection, 'fs'), clockOf(), ['copy'], undefined, () => nowMs);
  for (nowMs of [600_000, 4_200_000]) await housekeeping.run();
  expect(await place.models.tasks.countDocuments({ done: true, state: TASK_STATE.failed })).toBe(COUNT);
}

function clockOf() {
  return { now: () => new Date(), sync: async () => {} };
}
