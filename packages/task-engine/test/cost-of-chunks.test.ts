import { makeIndexes, taskModelsOf } from '@wharf/models';
import { connectStore, type StoreConnection } from '@wharf/service-kit';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { createHousekeeping } from '../src/housekeeping.ts';
import { createTaskChunkStore, type TaskChunkStore } from '../src/task-chunks.ts';
import { TASK_STATE } from '../src/task-state.ts';
import { type Installation, openOwnInstallation } from './installation.ts';

const COUNT = 30;
/** Chunks that one change may concern. */
const MOST_AT_ONCE = 8;

let place: Installation;
let connection: StoreConnection;
let chunks: TaskChunkStore;
/** How many chunks each change concerned. */
const changed: number[] = [];

beforeAll(async () => {
  place = await openOwnInstallation('cost-of-chunks');
  const url = new URL(place.url);
  url.searchParams.set('monitorCommands', 'true');
  connection = await connectStore(url.href);
  connection.getClient().on('commandSucceeded', ({ commandName, reply }) => {
    if (commandName === 'update' || commandName === 'delete') changed.push(Number(Reflect.get(Object(reply), 'n')));
  });
  chunks = createTaskChunkStore(taskModelsOf(connection, 'fs'));
  await makeIndexes(place.models.chunks);
});
afterAll(async () => {
  await connection?.close();
  await place?.close();
});
beforeEach(async () => {
  await place.models.chunks.deleteMany({});
  for (let index = 0; index < COUNT; index += 1) await chunks.writeChunk('task', 1, index, '{}');
  await chunks.writeChunk('other', 1, 0, '{}');
  changed.length = 0;
});

const fences = async () => (await place.models.chunks.find({ task: 'task' }).lean()).map(({ fence }) => fence);

it('chunks are taken over a few at a time, and others find the store free in between', async () => {
  await chunks.fenceChunks('task', 2);
  expect(await fences()).toEqual(Array.from({ length: COUNT }, () => 2));
  expect(Math.max(...changed)).toBeLessThanOrEqual(MOST_AT_ONCE);
  expect(await chunks.writeChunk('task', 1, 0, '{}')).toBe(false);
  expect(await chunks.writeChunk('other', 1, 0, '{}')).toBe(true);
});

it('chunks are removed a few at a time, but for those of a newer worker', async () => {
  await chunks.writeChunk('task', 2, 0, '{}');
  changed.length = 0;
  await chunks.removeChunks(['task'], 1);
  expect(await fences()).toEqual([2]);
  expect(Math.max(...changed)).toBeLessThanOrEqual(MOST_AT_ONCE);
  await chunks.removeChunks(['task']);
  expect(await place.models.chunks.countDocuments()).toBe(1);
});

it('chunks of a task that is put away go a few at a time', async () => {
  const at = new Date(Date.now() - 3_600_000);
  const times = { run_at: at, created_at: at, updated_at: at, lease_until: at, end_time: at };
  await place.models.tasks.create({
    _id: 'task',
    kind: 'copy',
    list: 'copy',
    ...times,
    state: TASK_STATE.canceled,
    done: true,
    forget: true,
  });
  const clock = { now: () => new Date(), sync: async () => {} };
  await createHousekeeping(taskModelsOf(connection, 'fs'), clock, ['copy']).run();
  expect(await place.models.tasks.countDocuments()).toBe(0);
  expect(await fences()).toEqual([]);
  expect(Math.max(...changed)).toBeLessThanOrEqual(MOST_AT_ONCE);
});
