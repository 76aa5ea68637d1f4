import { waitFor } from '@wharf/harness';
import { connectStore, createLocalBus } from '@wharf/service-kit';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { defineTaskKind } from '../src/index.ts';
import { createSharedWrites } from '../src/shared-writes.ts';
import { createStoreClock } from '../src/store-clock.ts';
import { stamp } from '../src/task-lease.ts';
import { createTaskQueue, type TaskQueue } from '../src/task-queue.ts';
import { TASK_STATE } from '../src/task-state.ts';
import { ANN, BOB, gate, type Installation, openInstallation, unlessAborted } from './installation.ts';

const TASKS = 150;
const AT_ONCE = 16;
const CLOSED = { keys: [], creators: [] };

const number = z.object({ number: z.number() });
const idle = defineTaskKind({ name: 'several', input: number, maxRetries: 0, run: async () => undefined });

/** What holds on every store of tasks that are taken and ended together. */
export function describeSeveral(name: string, openStore: () => Promise<{ url: string }>): void {
  describe(`tasks that are taken and ended together on ${name}`, () => {
    let url: string;
    let place: Installation;
    let queue: TaskQueue;
    let close: () => Promise<void>;
    beforeAll(async () => {
      ({ url } = await openStore());
    });
    beforeEach(async () => {
      place = await openInstallation(url);
      const store = await connectStore(place.url);
      const clock = createStoreClock(store);
      await clock.sync();
      queue = createTaskQueue(place.models, clock);
      close = () => store.close();
    });
    afterEach(async () => {
      await close();
      await place.close();
    });
    afterAll(() => vi.restoreAllMocks());

    /** Queues so many, and works on none of them. */
    const add = async (kind: typeof idle, count: number, creator = ANN) => {
      const engine = await place.open([kind]);
      await engine.stop();
      return engine.addAll(
        kind,
        Array.from({ length: count }, (_, index) => ({ name: `${index}`, creator, input: { number: index } })),
      );
    };
    const untilSucceeded = (count: number) =>
      waitFor('all tasks', async () => (await place.models.tasks.countDocuments({ state: TASK_STATE.succeeded })) === count, {
        withinMs: 50_000,
      });

    it('workers that take several at once never share one, and know all of each that they have', async () => {
      await add(idle, TASKS);
      const taken = await Promise.all(
        Array.from({ length: 6 }, async (_, worker) => {
          const own = [];
          while ((await place.models.tasks.countDocuments({ waiting: true })) > 0)
            own.push(...(await queue.claimSome(idle.name, CLOSED, `worker ${worker}`, AT_ONCE)));
          return own;
        }),
      );
      const all = taken.flat();
      expect(new Set(all.map(({ _id }) => _id)).size).toBe(TASKS);
      expect(all).toHaveLength(TASKS);
      for (const { updated_at: _, ...record } of all) expect(await place.read(record._id)).toMatchObject(record);
    });

    it('what is done to a task between the look at it and its claim is not undone', async () => {
      const [first = '', second = ''] = (await add(idle, 3)).map(({ _id }) => _id);
      const { tasks } = place.models;
      const look = vi.spyOn(tasks.collection, 'bulkWrite').mockImplementationOnce(async (...args) => {
        look.mockRestore();
        const cancel = { $set: { state: TASK_STATE.canceled, waiting: false, done: true }, ...stamp };
        await tasks.updateOne({ _id: first }, cancel);
        await tasks.updateOne({ _id: second }, { $set: { checkpoint: 'newer' }, ...stamp });
        return tasks.collection.bulkWrite(...args);
      });
      const taken = await queue.claimSome(idle.name, CLOSED, 'worker', AT_ONCE);
      expect(taken.map(({ name }) => name)).toEqual(['2']);
      expect(await place.read(first)).toMatchObject({ state: TASK_STATE.canceled, fence: 0 });
      const [again] = await queue.claimSome(idle.name, CLOSED, 'worker', AT_ONCE);
      expect(again).toMatchObject({ name: '1', checkpoint: 'newer', fence: 1 });
    });

    it('to take several costs two requests, whether there are two or sixteen', async () => {
      await add(idle, 2 + AT_ONCE);
      const { collection } = place.models.tasks;
      const asked = [vi.spyOn(collection, 'find'), vi.spyOn(collection, 'bulkWrite'), vi.spyOn(collection, 'findOneAndUpdate')];
      for (const count of [2, AT_ONCE]) {
        expect(await queue.claimSome(idle.name, CLOSED, 'worker', count)).toHaveLength(count);
        expect(asked.map(({ mock }) => mock.calls.length)).toEqual([1, 1, 0]);
        for (const each of asked) each.mockClear();
      }
      for (const each of asked) each.mockRestore();
    });

    it('all that a worker took, and was killed before it began, are run by another one, each once', async () => {
      const ran: number[] = [];
      const kind = defineTaskKind({ ...idle, input: number, maxRetries: 0, run: async (run) => void ran.push(run.input.number) });
      await add(kind, 2 * AT_ONCE);
      expect(await queue.claimSome(kind.name, CLOSED, 'killed', AT_ONCE)).toHaveLength(AT_ONCE);
      await place.open([kind]);
      await untilSucceeded(2 * AT_ONCE);
      expect(ran.toSorted((one, other) => one - other)).toEqual(Array.from({ length: 2 * AT_ONCE }, (_, index) => index));
    });

    it('what a worker took beyond its places is passed on, in its turn, when those before it take long', async () => {
      const hold = gate();
      const ran: string[] = [];
      const kind = defineTaskKind({
        name: 'mixed',
        input: number,
        maxRetries: 0,
        async run(run) {
          if (run.creator?.id === BOB.id) await unlessAborted(run.signal, hold.opened);
          ran.push(run.name);
        },
      });
      const limits = { concurrencyOf: async () => 2, shareOf: (places: number) => places };
      const adder = await place.open([kind]);
      await adder.stop();
      const task = (creator: typeof ANN) => ({ name: creator.name, creator, input: { number: 0 } });
      await adder.addAll(kind, [
        ...Array.from({ length: 40 }, () => task(ANN)),
        ...Array.from({ length: 2 }, () => task(BOB)),
        ...Array.from({ length: 10 }, () => task({ ...ANN, name: 'behind' })),
      ]);
      const first = await place.open([kind], limits);
      await waitFor('the long ones', async () => (await place.models.tasks.countDocuments({ creator_id: BOB.id, state: 1 })) === 2);
      const second = await place.open([kind], limits);
      await untilSucceeded(50);
      expect(ran.filter((each) => each === 'behind')).toHaveLength(10);
      hold.open();
      await untilSucceeded(52);
      expect(ran).toHaveLength(52);
      await first.stop();
      await second.stop();
    });

    it('a worker that stops gives back at once what it has not begun, in its turn, and nothing runs twice', async () => {
      const ran: number[] = [];
      const attempts = new Set<number>();
      const kind = defineTaskKind({
        name: 'stopped',
        input: number,
        maxRetries: 0,
        async run(run) {
          ran.push(run.input.number);
          attempts.add(run.attempt);
        },
      });
      const bus = createLocalBus(() => {});
      await add(kind, TASKS);
      const first = await place.open([kind], { bus });
      await waitFor('some', () => ran.length > 20);
      await first.stop();
      const { tasks } = place.models;
      expect(await tasks.countDocuments({ state: TASK_STATE.running })).toBe(0);
      const times = await tasks.distinct('run_at', { waiting: true, fence: { $gt: 0 } });
      expect(times.every((at) => at.getTime() <= Date.now())).toBe(true);
      await place.open([kind], { bus });
      await untilSucceeded(TASKS);
      expect([...attempts]).toEqual([1]);
      expect(ran.toSorted((one, other) => one - other)).toEqual(Array.from({ length: TASKS }, (_, index) => index));
    });

    it('writes that come at once are two requests, and each hears of itself alone', async () => {
      const records = await add(idle, 60);
      const write = createSharedWrites(place.models);
      const requests = vi.spyOn(place.models.tasks.collection, 'bulkWrite');
      const rename = ({ _id }: { _id: string }) => write({ filter: { _id, fence: 0 }, update: { $set: { name: 'met' } } });
      const [first, ...others] = records.map(rename);
      // With the first alone at first: what comes in its turn goes with it.
      expect(await first).toBe(true);
      expect(await Promise.all(others)).toEqual(others.map(() => true));
      expect(requests.mock.calls.length).toBeLessThanOrEqual(2);
      requests.mockRestore();
      const [{ _id: one } = { _id: '' }, { _id: stale } = { _id: '' }, { _id: wrong } = { _id: '' }, { _id: other } = { _id: '' }] =
        records;
      const answers = await Promise.allSettled([
        write({ filter: { _id: one, fence: 0 }, update: { $set: { status: 'met' } } }),
        write({ filter: { _id: stale, fence: 7 }, update: { $set: { status: 'met' } } }),
        write({ filter: { _id: wrong, fence: 0 }, update: { $inc: { name: 1 } } }),
        write({ filter: { _id: other, fence: 0 }, update: { $set: { status: 'met' } } }),
      ]);
      expect(answers.map((answer) => (answer.status === 'fulfilled' ? answer.value : 'failed'))).toEqual([true, false, 'failed', true]);
      const statuses = await Promise.all([one, stale, wrong, other].map(async (id) => (await place.read(id)).status));
      expect(statuses).toEqual(['met', '', '', 'met']);
    });

    it('a request without an answer holds up no other one', async () => {
      const [first, second] = await add(idle, 2);
      const write = createSharedWrites(place.models);
      const stuck = Promise.withResolvers<never>();
      const requests = vi.spyOn(place.models.tasks.collection, 'bulkWrite').mockReturnValueOnce(stuck.promise);
      const rename = (_id = '') => write({ filter: { _id }, update: { $set: { name: 'met' } } });
      const waiting = rename(first?._id);
      await vi.waitFor(() => expect(requests).toHaveBeenCalled());
      expect(await rename(second?._id)).toBe(true);
      stuck.reject(new Error('no answer came'));
      await expect(waiting).rejects.toThrow('no answer came');
      requests.mockRestore();
    });
  });
}
