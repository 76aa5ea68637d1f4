import { taskModelsOf, taskProgressed } from '@wharf/models';
import { type Bus, connectStore, createLocalBus, type StoreConnection } from '@wharf/service-kit';
import { afterEach, beforeEach, expect, it, onTestFinished, vi } from 'vitest';
import { z } from 'zod';
import { createTaskFeed, defineTaskKind, type TaskChange, type TaskFeed } from '../src/index.ts';
import { TASK_STATE } from '../src/task-state.ts';
import { documentsRead } from './documents-read.ts';
import { ANN, BOB, EVERYBODY, type Installation, idle, openOwnInstallation } from './installation.ts';

const TASKS = 200;
const HINTS = 10;

/** Tells something new all the time. */
const moving = defineTaskKind({
  name: 'moving',
  input: z.object({}),
  maxRetries: 0,
  async run({ signal, progress }) {
    for (let doneBytes = 1; !signal.aborted; doneBytes += 1) {
      progress({ doneBytes, totalBytes: 1_000 });
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    throw signal.reason;
  },
});

let place: Installation;
let store: StoreConnection;
let bus: Bus;
let feed: TaskFeed;
beforeEach(async () => {
  place = await openOwnInstallation('cost-of-watching');
  store = await connectStore(place.url);
  bus = createLocalBus(() => {});
  feed = createTaskFeed({ owners: ['fs', 'downloader'], store, bus, onError: () => {} });
});
afterEach(async () => {
  feed.close();
  await store.close();
  await place.close();
});

it('a hint makes a watcher read what changed, and not again what others changed a moment ago', async () => {
  // One place, which the first one has: a worker with room looks at those that wait.
  const engine = await place.open([idle], { concurrencyOf: async () => 1 });
  const records = await engine.addAll(
    idle,
    Array.from({ length: TASKS }, () => ({ name: 'one', creator: ANN, input: {} })),
  );
  const told: TaskChange[] = [];
  feed.watch(EVERYBODY, (change) => told.push(change));
  const hint = async (name: string) => {
    const [{ _id: id } = { _id: '' }] = records;
    await place.models.tasks.updateOne({ _id: id }, { $set: { name }, $currentDate: { updated_at: true }, $inc: { revision: 1 } });
    bus.publish(taskProgressed('fs'), { id, list: 'idle', creatorId: ANN.id, state: 0, progress: 0 });
    await vi.waitFor(() => expect(told.some((change) => change.kind === 'task' && change.task.name === name)).toBe(true), 10_000);
  };
  // Each is told of 0.2 s after it came: when they are over, the tasks were not added a moment ago.
  for (const name of ['first', 'second', 'third', 'fourth']) await hint(name);
  const before = await documentsRead(place.url);
  const startedAtMs = performance.now();
  for (let index = 0; index < HINTS; index += 1) await hint(`name ${index}`);
  // At most once a second everything is looked at.
  const wholeLooks = Math.ceil((performance.now() - startedAtMs) / 800) + 1;
  expect((await documentsRead(place.url)) - before).toBeLessThan(wholeLooks * TASKS + HINTS * 25);
});

it('what the bus tells of running tasks is told on, and not read from the store', async () => {
  const told: TaskChange[] = [];
  const ofBob: TaskChange[] = [];
  const engine = await place.open([idle, moving], { bus, concurrencyOf: async () => 10 });
  feed.watch(EVERYBODY, (change) => told.push(change));
  feed.watch({ creatorId: BOB.id }, (change) => ofBob.push(change));
  const shown = () => told.flatMap((change) => (change.kind === 'task' && change.task.progress > 0 ? [change.task.progress] : []));
  const ids: string[] = [];
  for (let count = 0; count < 8; count += 1) ids.push((await engine.add(moving, { name: 'one', creator: ANN, input: {} }))._id);
  for (const id of ids) await place.untilState(id, TASK_STATE.running);
  await vi.waitFor(() => expect(shown().length).toBeGreaterThanOrEqual(8), 10_000);
  const [before, seen] = [await documentsRead(place.url), shown().length];
  await vi.waitFor(() => expect(shown().length - seen).toBeGreaterThanOrEqual(24), 10_000);
  // A write reads the task that it changes; every five seconds everything that changed is looked at.
  expect((await documentsRead(place.url)) - before).toBeLessThan(1.5 * (shown().length - seen) + 20);
  expect(ofBob).toEqual([]);
  const last = new Map(told.flatMap((change) => (change.kind === 'task' ? [[change.task.id, change.task]] : [])));
  for (const id of ids) expect(last.get(id)).toMatchObject({ list: 'moving', creator: ANN.name, state: TASK_STATE.running });
});

it('what nobody watches is not looked at', async () => {
  const ofBob: string[] = [];
  const hint = (creators: number[]) =>
    bus.publish(taskProgressed('fs'), { id: 'a', list: 'idle', creatorId: ANN.id, state: 0, progress: 0, creators });
  const looks = vi.spyOn(taskModelsOf(store, 'fs').tasks, 'find');
  onTestFinished(() => looks.mockRestore());
  const engine = await place.open([idle]);
  const { _id: id } = await engine.add(idle, { name: 'first', creator: BOB, input: {} });
  feed.watch({ creatorId: BOB.id }, (change) => ofBob.push(change.kind === 'task' ? change.task.name : ''));
  await vi.waitFor(() => expect(ofBob).toContain('first'), 10_000);
  const before = looks.mock.calls.length;
  await place.models.tasks.updateOne({ _id: id }, { $set: { name: 'second' }, $currentDate: { updated_at: true }, $inc: { revision: 1 } });
  const hintedAtMs = Date.now();
  hint([ANN.id]);
  // It is seen with the look at everything that comes by itself, after seconds.
  await vi.waitFor(() => expect(ofBob).toContain('second'), 10_000);
  const [filter] = looks.mock.calls[before] ?? [];
  const isFarBack = expect.toSatisfy((since: Date) => since.getTime() < hintedAtMs - 2_000);
  expect(filter).toEqual({ updated_at: { $gt: isFarBack } });
});
