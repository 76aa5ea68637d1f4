import { connectStore, createLocalBus } from '@wharf/service-kit';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { createTaskFeed } from '../src/index.ts';
import { ANN, EVERYBODY, type Installation, idle, openOwnInstallation } from './installation.ts';

/** How long the store took to write the change, in milliseconds: its time is that of the beginning. */
const WRITE_MS = 25_000;

let place: Installation;
beforeEach(async () => {
  place = await openOwnInstallation('feed-late');
});
afterEach(() => place.close());

it('a change is told that the store took long to write', async () => {
  const store = await connectStore(place.url);
  const feed = createTaskFeed({ owners: ['fs'], store, bus: createLocalBus(() => {}), onError: () => {}, catchUpMs: 2_000 });
  try {
    const engine = await place.open([idle]);
    const names: string[] = [];
    feed.watch(EVERYBODY, (change) => {
      if (change.kind === 'task') names.push(change.task.name);
    });
    await engine.addAll(idle, [{ name: 'before', creator: ANN, input: {} }]);
    await expect.poll(() => names, { timeout: 20_000 }).toContain('before');
    // Nothing else changes it from here on.
    await engine.stop();
    const change = { name: 'late', updated_at: new Date(Date.now() - WRITE_MS) };
    await place.models.tasks.updateMany({}, { $set: change, $inc: { revision: 1 } }, { timestamps: false });
    await expect.poll(() => names, { timeout: 20_000 }).toContain('late');
    expect(names.filter((name) => name === 'late')).toEqual(['late']);
  } finally {
    feed.close();
    await store.close();
  }
});

it('a change is told that was made after the clock of the store was set back', async () => {
  const store = await connectStore(place.url);
  const feed = createTaskFeed({ owners: ['fs'], store, bus: createLocalBus(() => {}), onError: () => {}, catchUpMs: 2_000 });
  try {
    const engine = await place.open([idle]);
    const names: string[] = [];
    feed.watch(EVERYBODY, (change) => {
      if (change.kind === 'task') names.push(change.task.name);
    });
    await engine.addAll(idle, [{ name: 'before', creator: ANN, input: {} }]);
    await expect.poll(() => names, { timeout: 20_000 }).toContain('before');
    await engine.stop();
    const written = (name: string, updatedAt: Date) =>
      place.models.tasks.updateMany({}, { $set: { name, updated_at: updatedAt }, $inc: { revision: 1 } }, { timestamps: false });
    await written('a day ahead', new Date(Date.now() + 86_400_000));
    await expect.poll(() => names, { timeout: 20_000 }).toContain('a day ahead');
    await written('set back', new Date());
    await expect.poll(() => names, { timeout: 20_000 }).toContain('set back');
  } finally {
    feed.close();
    await store.close();
  }
});
