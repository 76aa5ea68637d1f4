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

/** Has a watcher told of a task that nothing changes but what is written past the engine. */
async function watched(
  work: (names: readonly string[], write: (name: string, updatedAt: Date) => Promise<unknown>) => Promise<void>,
): Promise<void> {
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
    await work(names, (name, updatedAt) =>
      place.models.tasks.updateMany({}, { $set: { name, updated_at: updatedAt }, $inc: { revision: 1 } }, { timestamps: false }),
    );
  } finally {
    feed.close();
    await store.close();
  }
}

it('a change is told that the store took long to write', () =>
  watched(async (names, write) => {
    await write('late', new Date(Date.now() - WRITE_MS));
    await expect.poll(() => names, { timeout: 20_000 }).toContain('late');
    expect(names.filter((name) => name === 'late')).toEqual(['late']);
  }));

it('a change is told that was made after the clock of the store was set back', () =>
  watched(async (names, write) => {
    await write('a day ahead', new Date(Date.now() + 86_400_000));
    await expect.poll(() => names, { timeout: 20_000 }).toContain('a day ahead');
    await write('set back', new Date());
    await expect.poll(() => names, { timeout: 20_000 }).toContain('set back');
  }));
