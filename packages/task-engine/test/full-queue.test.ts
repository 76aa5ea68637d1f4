import { startEmbeddedMongo } from '@wharf/embedded-mongo';
import { AppError } from '@wharf/errors';
import { makeTempDir } from '@wharf/harness';
import { afterEach, expect, it } from 'vitest';
import { z } from 'zod';
import { defineTaskKind, type TaskEngine, type TaskEngineOptions } from '../src/index.ts';
import { TASK_STATE } from '../src/task-state.ts';
import { ANN, BOB, type Installation, idle, openInstallation } from './installation.ts';

const undo: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const step of undo.splice(0).toReversed()) await step();
});

async function open(maxDocuments?: number, rest?: Partial<TaskEngineOptions>): Promise<{ place: Installation; engine: TaskEngine }> {
  const dir = await makeTempDir('full-queue');
  undo.push(dir.remove);
  const store = await startEmbeddedMongo({ dataDir: dir.path, ...(maxDocuments === undefined ? {} : { maxDocuments }) });
  undo.push(() => store.stop());
  const place = await openInstallation(store.url);
  undo.push(() => place.close());
  return { place, engine: await place.open([idle, listing], rest) };
}

/** Names what it is about. */
const listing = defineTaskKind({ name: 'listing', input: z.object({ files: z.array(z.string()) }), maxRetries: 0, run: idle.run as never });

/** Adds so many at the same time in each of some calls. @returns why those failed that did */
async function addInParallel(engine: TaskEngine, calls: number, count: number, userOf: (call: number) => number): Promise<unknown[]> {
  const add = (call: number) =>
    engine.addAll(
      idle,
      Array.from({ length: count }, () => ({ name: 'one', creator: { id: userOf(call), name: 'somebody', role: 0 }, input: {} })),
    );
  const done = await Promise.allSettled(Array.from({ length: calls }, (_, call) => add(call)));
  return done.flatMap((each) => (each.status === 'rejected' ? [each.reason] : []));
}

it('one user cannot pass the limit by calls at the same time', { timeout: 60_000 }, async () => {
  const { place, engine } = await open();
  const refusals = await addInParallel(engine, 16, 1_000, () => 3);
  expect(await place.models.tasks.countDocuments({ done: false })).toBe(10_000);
  expect(refusals).toHaveLength(6);
  expect(refusals).toEqual(refusals.map(() => expect.objectContaining({ code: 'RATE_LIMITED' })));
});

it('all users together leave most of a small store to others', { timeout: 60_000 }, async () => {
  const { place, engine } = await open(10_000);
  const refusals = await addInParallel(engine, 40, 100, (call) => 10 + call);
  expect(await place.models.tasks.countDocuments({ done: false })).toBe(1_500);
  expect(refusals).toHaveLength(25);
  expect(refusals).toEqual(refusals.map(() => expect.objectContaining({ code: 'RATE_LIMITED' })));
});

it('long lists of what tasks are about need room in the store, and short ones none', async () => {
  const asked: number[] = [];
  let heldBytes = 0;
  const holdRoom = async (bytes: number) => {
    asked.push(bytes);
    if (bytes > 100_000) throw new AppError('QUOTA_EXCEEDED', 'no room');
    heldBytes += bytes;
    return () => {
      heldBytes -= bytes;
    };
  };
  const { place, engine } = await open(undefined, { holdRoom });
  const add = (count: number) =>
    engine.add(listing, { name: 'one', creator: ANN, input: { files: Array.from({ length: count }, () => 'x'.repeat(97)) } });
  await add(10);
  expect(asked).toEqual([]);
  await add(100);
  await expect(add(2_000)).rejects.toMatchObject({ code: 'QUOTA_EXCEEDED' });
  expect(asked).toEqual([expect.closeTo(8_000, -3), expect.closeTo(198_000, -3)]);
  expect([heldBytes, await place.models.tasks.countDocuments({ done: false })]).toEqual([0, 2]);
});

it('tasks of two kinds that are queued together find room for all of them, or none is queued', async () => {
  const holdRoom = async (bytes: number) => {
    if (bytes > 100_000) throw new AppError('QUOTA_EXCEEDED', 'no room');
    return () => {};
  };
  const { place, engine } = await open(undefined, { holdRoom });
  const batch = (bytes: number) => ({ kind: listing, tasks: [{ name: 'one', creator: ANN, input: { files: ['x'.repeat(bytes)] } }] });
  await expect(engine.addTogether([batch(90_000), batch(90_000)])).rejects.toMatchObject({ code: 'QUOTA_EXCEEDED' });
  expect(await place.models.tasks.countDocuments()).toBe(0);
  await engine.addTogether([batch(40_000), batch(40_000)]);
  expect(await place.models.tasks.countDocuments()).toBe(2);
});

it.each([
  ['by name', (engine: TaskEngine, ids: readonly string[]) => engine.apply('retry', ids, 'idle', { creatorId: ANN.id })],
  [
    'all that failed',
    async (engine: TaskEngine) =>
      new Map([['', await engine.retryFailed('idle', { creatorId: undefined }).catch((error: unknown) => error)]]),
  ],
])('tasks that are retried count as new ones do: %s', async (_how, retry) => {
  const { place, engine } = await open(undefined, { tasksOfAll: 100 });
  const open90 = () =>
    engine.addAll(
      idle,
      Array.from({ length: 90 }, () => ({ name: 'one', creator: ANN, input: {} })),
    );
  const ended = (await open90()).map(({ _id }) => _id);
  await engine.apply('cancel', ended, 'idle', { creatorId: ANN.id });
  await place.models.tasks.updateMany({}, { $set: { state: TASK_STATE.failed, done: true } });
  await engine.apply(
    'pause',
    (await open90()).map(({ _id }) => _id),
    'idle',
    { creatorId: ANN.id },
  );
  const refusals = [...(await retry(engine, ended)).values()];
  expect(refusals).toContainEqual(expect.objectContaining({ code: 'RATE_LIMITED' }));
  expect(await place.models.tasks.countDocuments({ done: false })).toBeLessThanOrEqual(100);
  // Somebody who has few finds a place.
  await engine.add(idle, { name: 'one', creator: BOB, input: {} });
});
