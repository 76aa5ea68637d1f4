import { expect, it } from 'vitest';
import { createOpenLimit } from './open-limit.ts';

/** A store with so many tasks of each user, that tells how often it counted. */
function open(before: number) {
  const store = { tasks: before, counts: 0, nowMs: 0 };
  const limit = createOpenLimit(
    async (_userId, most) => {
      store.counts += 1;
      return Math.min(most, store.tasks);
    },
    () => store.nowMs,
  );
  const add = async (count = 1) => {
    await limit.take(3, count);
    store.tasks += count;
  };
  return { store, add };
}

it('tasks are counted for every 500 that are added, however many there are', async () => {
  for (const before of [0, 4_000, 8_000]) {
    const { store, add } = open(before);
    for (let added = 0; added < 1_000; added += 1) await add();
    expect(store.counts).toBe(2);
  }
});

it('the limit holds, in one call and over many', async () => {
  const refused = { code: 'RATE_LIMITED' };
  await expect(open(0).add(10_001)).rejects.toMatchObject(refused);
  const { store, add } = open(9_990);
  for (let added = 0; added < 10; added += 1) await add();
  await expect(add()).rejects.toMatchObject(refused);
  expect(store.tasks).toBe(10_000);
});

it('who asks again and again at the limit is not counted each time, and gets the room that there is later', async () => {
  const { store, add } = open(10_000);
  for (let asked = 0; asked < 100; asked += 1) await expect(add()).rejects.toMatchObject({ code: 'RATE_LIMITED' });
  expect(store.counts).toBe(1);
  store.tasks = 100;
  store.nowMs += 2_000;
  await add();
  expect(store.tasks).toBe(101);
});
