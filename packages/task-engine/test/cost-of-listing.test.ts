import { afterEach, beforeEach, expect, it } from 'vitest';
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
  const listed = async (scope: typeof EVERYBODY) => {
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
