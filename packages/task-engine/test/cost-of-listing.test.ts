import { afterEach, beforeEach, expect, it } from 'vitest';
import type { TaskEngine } from '../src/index.ts';
import { TASK_STATE } from '../src/task-state.ts';
import { documentsRead } from './documents-read.ts';
import { ANN, BOB, EVERYBODY, type Installation, idle, openOwnInstallation } from './installation.ts';

const TASKS = 300;

let place: Installation;
beforeEach(async () => {
  place = await openOwnInstallation('cost-of-listing');
});
afterEach(() => place.close());

it('whoever lists tasks makes the store read their own, and not those of everybody else', async () => {
  // None has a place, so that nothing else reads them meanwhile.
  const engine = await place.open([idle], { concurrencyOf: async () => 0 });
  const add = (creator: typeof ANN, count: number) =>
    engine.addAll(
      idle,
      Array.from({ length: count }, () => ({ name: 'one', creator, input: {} })),
    );
  await add(ANN, TASKS);
  await add(BOB, 3);
  const listed = async (scope: { creatorId: number | undefined }) => {
    const names: string[] = [];
    for await (const { name } of engine.control.list({ list: 'idle', done: false, skip: 0, limit: 0 }, scope)) names.push(name);
    return names.length;
  };
  const before = await documentsRead(place.url);
  expect(await listed({ creatorId: BOB.id })).toBe(3);
  expect((await documentsRead(place.url)) - before).toBeLessThan(TASKS / 2);
  expect(await listed({ creatorId: ANN.id })).toBe(TASKS);
  expect(await listed(EVERYBODY)).toBe(TASKS + 3);
});

it.each([
  ['many late pages', (engine: TaskEngine) => pageOf(engine, ANN.id, TASKS - 1)],
  ['all that failed to be tried again, many times,', (engine: TaskEngine) => engine.retryFailed('idle', { creatorId: ANN.id })],
  [
    'all that were cancelled to be forgotten, many times,',
    (engine: TaskEngine) => engine.clear('idle', [TASK_STATE.canceled], { creatorId: ANN.id }),
  ],
])('whoever asks for %s at once lets others have their turns in between', async (_, ask) => {
  const engine = await place.open([idle], { concurrencyOf: async () => 0 });
  await engine.addAll(
    idle,
    Array.from({ length: TASKS }, () => ({ name: 'one', creator: ANN, input: {} })),
  );
  await place.models.tasks.updateMany({}, { $set: { done: true, waiting: false, state: TASK_STATE.succeeded } });
  let answered = 0;
  const asked = Array.from({ length: 40 }, () => ask(engine).finally(() => (answered += 1)));
  expect(await pageOf(engine, BOB.id, 0)).toEqual([]);
  expect(answered).toBeLessThan(10);
  await Promise.all(asked);
});

async function pageOf(engine: TaskEngine, creatorId: number, skip: number): Promise<string[]> {
  const names: string[] = [];
  for await (const { name } of engine.control.list({ list: 'idle', done: true, skip, limit: 1 }, { creatorId })) names.push(name);
  return names;
}
