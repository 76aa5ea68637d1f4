import { setImmediate as nextTurn } from 'node:timers/promises';
import { connectStore, createLocalBus } from '@wharf/service-kit';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { createTaskFeed } from '../src/index.ts';
import { ANN, EVERYBODY, type Installation, idle, openOwnInstallation } from './installation.ts';

const TASKS = 2_000;
/** Changes of this time are seen however long it takes to write them all, in milliseconds from now. */
const LATER_MS = 3_600_000;

let place: Installation;
beforeEach(async () => {
  place = await openOwnInstallation('feed-turns');
});
afterEach(() => place.close());

it('of thousands of tasks that change at once, as many are told in one turn of the event loop as there is time for', async () => {
  const store = await connectStore(place.url);
  const bus = createLocalBus(() => {});
  const feed = createTaskFeed({ owners: ['fs'], store, bus, onError: () => {} });
  let isOver = false;
  try {
    const engine = await place.open([idle], { concurrencyOf: async () => 1 });
    const tasks = Array.from({ length: TASKS }, () => ({ name: 'one', creator: ANN, input: {} }));
    await engine.addAll(idle, tasks);
    let turn = 0;
    const toldIn = new Map<number, number>();
    const names = new Set<string>();
    const countTurns = async () => {
      for (; !isOver; turn += 1) await nextTurn();
    };
    const turns = countTurns();
    feed.watch(EVERYBODY, (change) => {
      toldIn.set(turn, (toldIn.get(turn) ?? 0) + 1);
      if (change.kind === 'task' && change.task.name === 'changed') names.add(change.task.id);
    });
    const change = { name: 'changed', updated_at: new Date(Date.now() + LATER_MS) };
    await place.models.tasks.updateMany({}, { $set: change, $inc: { revision: 1 } }, { timestamps: false });
    await expect.poll(() => names.size, { timeout: 20_000 }).toBe(TASKS);
    isOver = true;
    await turns;
    expect(Math.max(...toldIn.values())).toBeLessThan(TASKS / 3);
  } finally {
    isOver = true;
    feed.close();
    await store.close();
  }
});
