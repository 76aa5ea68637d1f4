import { taskProgressed } from '@wharf/models';
import { connectStore, createLocalBus } from '@wharf/service-kit';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { createTaskFeed, type TaskChange } from '../src/index.ts';
import { documentsRead } from './documents-read.ts';
import { ANN, EVERYBODY, type Installation, idle, openOwnInstallation } from './installation.ts';

const TASKS = 200;
const HINTS = 10;

let place: Installation;
beforeEach(async () => {
  place = await openOwnInstallation('cost-of-watching');
});
afterEach(() => place.close());

it('a hint makes a watcher read what changed, and not again what others changed a moment ago', async () => {
  const store = await connectStore(place.url);
  const bus = createLocalBus(() => {});
  const feed = createTaskFeed({ owners: ['fs', 'downloader'], store, bus, onError: () => {} });
  try {
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
    // Once a second everything is looked at.
    const wholeLooks = Math.ceil((performance.now() - startedAtMs) / 800) + 1;
    expect((await documentsRead(place.url)) - before).toBeLessThan(wholeLooks * TASKS + HINTS * 25);
  } finally {
    feed.close();
    await store.close();
  }
});
