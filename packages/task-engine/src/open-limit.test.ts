import { expect, it } from 'vitest';
import { createOpenLimit, isTooMany } from './open-limit.ts';

const REFUSED = { code: 'RATE_LIMITED' };

/** A store with so many tasks of each user, that tells how often it counted those of one, and of all. */
function open(before: number, mostOfAll = Number.POSITIVE_INFINITY) {
  const store = { tasks: new Map<number, number>(), ended: 0, counts: 0, countsOfAll: 0, nowMs: 0 };
  const of = (userId: number) => store.tasks.get(userId) ?? before;
  const all = () => [...store.tasks.keys()].reduce((sum, userId) => sum + of(userId), 0);
  const limit = createOpenLimit({
    async countOpen(userId, most) {
      if (userId === undefined) store.countsOfAll += 1;
      else store.counts += 1;
      return Math.min(most, userId === undefined ? all() : of(userId));
    },
    countAll: async () => all() + store.ended,
    mostOfAll: async () => mostOfAll,
    nowMs: () => store.nowMs,
  });
  const tasksOf = (count: number, userId: number) =>
    Array.from({ length: count }, (_, index) => ({ creator: { id: userId, name: `${index}`, role: 0 } }));
  const add = async (count = 1, userId = 3) => {
    const settle = await limit.take(tasksOf(count, userId));
    // As a store does, which takes its time.
    await new Promise((resolve) => setImmediate(resolve));
    store.tasks.set(userId, of(userId) + count);
    settle();
  };
  return { store, limit, tasksOf, add, of, all };
}
const admitted = (asked: readonly PromiseSettledResult<void>[]) => asked.filter(({ status }) => status === 'fulfilled').length;

it('tasks are counted for every 500 that are added, however many there are', async () => {
  for (const before of [0, 4_000, 8_000]) {
    const { store, add } = open(before);
    for (let added = 0; added < 1_000; added += 1) await add();
    expect(store.counts).toBe(2);
  }
});

it('the limit holds, in one call and over many', async () => {
  await expect(open(0).add(10_001)).rejects.toMatchObject(REFUSED);
  const { of, add } = open(9_990);
  for (let added = 0; added < 10; added += 1) await add();
  await expect(add()).rejects.toMatchObject(REFUSED);
  expect(of(3)).toBe(10_000);
});

it('who asks for more than there can ever be is told so, and who asks for less only where others are in the way', async () => {
  for (const [before, most, count, expected] of [
    [0, 20_000, 10_001, true],
    [0, 5_000, 5_001, true],
    [9_990, 20_000, 11, false],
  ] as const) {
    const error = await open(before, most)
      .add(count)
      .catch((thrown: unknown) => thrown);
    expect(error).toMatchObject(REFUSED);
    expect([before, most, isTooMany(error)]).toEqual([before, most, expected]);
  }
});

it.each([1, 300, 1_000, 4_000])(
  'the limit holds for calls at the same time, of %i tasks each, and all that has room is taken',
  async (count) => {
    const { of, add } = open(Math.max(0, 10_001 - 3 * count));
    const asked = await Promise.allSettled(Array.from({ length: 64 }, () => add(count)));
    expect(of(3)).toBeLessThanOrEqual(10_000);
    expect(admitted(asked)).toBe(2);
  },
);

it('calls at the same time are not counted for each', async () => {
  const { store, add } = open(0);
  await Promise.all(Array.from({ length: 400 }, () => add()));
  expect(store.counts).toBe(1);
});

it('all users together have a limit, too, which is not counted for each call', async () => {
  const { store, all, add } = open(0, 20_000);
  for (let userId = 1; userId <= 20; userId += 1) await Promise.all(Array.from({ length: 10 }, () => add(99, userId)));
  // What is there may be known without a count.
  expect(store.countsOfAll).toBe(0);
  const asked = await Promise.allSettled(Array.from({ length: 64 }, (_, index) => add(100, 30 + index)));
  expect(all()).toBe(20_000);
  expect(admitted(asked)).toBe(2);
  await expect(add(51, 99)).rejects.toMatchObject({ ...REFUSED, message: expect.stringContaining('all users together') });
});

it('who has few may add some where others have all that there may be, up to a bound', async () => {
  const { all, add } = open(0, 5_000);
  await add(5_000, 7);
  await expect(add(1, 7)).rejects.toMatchObject(REFUSED);
  const asked = await Promise.allSettled(Array.from({ length: 100 }, (_, index) => add(50, 10 + index)));
  expect([admitted(asked), all()]).toEqual([25, 6_250]);
  await expect(add(1, 10)).rejects.toMatchObject(REFUSED);
});

it('tasks that have ended are not counted among those of all', async () => {
  const { store, all, add } = open(0, 5_000);
  store.ended = 4_500;
  for (let userId = 1; userId <= 50; userId += 1) await add(100, userId);
  expect(all()).toBe(5_000);
  expect(store.countsOfAll).toBeLessThanOrEqual(12);
  await expect(add(51, 99)).rejects.toMatchObject(REFUSED);
});

it('who is refused because of all has not used up any of the own room', async () => {
  const { store, of, add } = open(0, 5_000);
  await add(5_000, 7);
  for (let asked = 0; asked < 20; asked += 1) await expect(add(1_000)).rejects.toMatchObject(REFUSED);
  store.tasks.set(7, 0);
  store.nowMs += 2_000;
  for (let asked = 0; asked < 5; asked += 1) await add(1_000);
  expect(of(3)).toBe(5_000);
});

it('what a task queues, by which it ends, has room beyond the limits', async () => {
  const { store, limit, tasksOf } = open(0, 10_000);
  store.tasks.set(3, 10_000);
  const followUps = (count: number) => tasksOf(count, 3).map((task, index) => ({ ...task, id: `of-${index}` }));
  await expect(limit.take(tasksOf(1, 3))).rejects.toMatchObject(REFUSED);
  await limit.take(followUps(2_500));
  await expect(limit.take(followUps(2_501))).rejects.toMatchObject(REFUSED);
});

it('who asks again and again at the limit is not counted each time, and gets the room that there is later', async () => {
  const { store, of, add } = open(10_000);
  for (let asked = 0; asked < 100; asked += 1) await expect(add()).rejects.toMatchObject(REFUSED);
  expect(store.counts).toBe(1);
  store.tasks.set(3, 100);
  store.nowMs += 2_000;
  await add();
  expect(of(3)).toBe(101);
});

it('a count that fails is the failure of those who waited for it, and is made again', async () => {
  let isAway = true;
  const limit = createOpenLimit({
    countOpen: async () => (isAway ? Promise.reject(new Error('away')) : 0),
    countAll: async () => 0,
    mostOfAll: async () => Number.POSITIVE_INFINITY,
    nowMs: () => 0,
  });
  const task = [{ creator: { id: 3, name: 'ann', role: 0 } }];
  const asked = await Promise.allSettled([limit.take(task), limit.take(task)]);
  expect(asked.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  isAway = false;
  await limit.take(task);
});
