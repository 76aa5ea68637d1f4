import { taskWake } from '@wharf/models';
import { createLocalBus } from '@wharf/service-kit';
import { Query } from 'mongoose';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { defineTaskKind } from '../src/index.ts';
import { LEASE_MS } from '../src/task-lease.ts';
import { TASK_STATE } from '../src/task-state.ts';
import { documentsRead } from './documents-read.ts';
import { ANN, BOB, EVERYBODY, type Installation, idle, openOwnInstallation, unlessAborted } from './installation.ts';

const TASKS = 300;
/**
 * What a task costs at most: it is taken, and ended. What the queue is asked every second, and beside a user's share, is another half. Where tasks end
 * within milliseconds several are taken and ended with one request (`several-contract.ts`).
 */
const MOST_PER_TASK = 2.5;

/** Documents that the store reads for a task: whose turn it is, the task twice, and what is asked each second. */
const MOST_READ_PER_TASK = 10;

const quick = defineTaskKind({ name: 'quick', input: z.object({}), maxRetries: 0, run: async () => undefined });
const asserting = defineTaskKind({ name: 'asserting', input: z.object({}), maxRetries: 0, run: (run) => run.assertLease() });
const other = defineTaskKind({ name: 'other', input: z.object({}), maxRetries: 0, run: async () => undefined });

let place: Installation;
beforeEach(async () => {
  place = await openOwnInstallation('cost-of-running');
});
afterEach(() => place.close());

it.each([
  ['ends at once', quick],
  ['asserts its lease before a step that cannot be taken back', asserting],
])('a task that %s is taken and ended, and the store is asked nothing else for it', async (_title, kind) => {
  const engine = await place.open([kind, other], { concurrencyOf: async () => 2 });
  const asked = vi.spyOn(Query.prototype, 'exec');
  const written = vi.spyOn(Object.getPrototypeOf(place.models.tasks.collection), 'bulkWrite');
  const isOfTest = (query: unknown) => query instanceof Query && query.model === place.models.tasks;
  try {
    await engine.addAll(
      kind,
      Array.from({ length: TASKS }, () => ({ name: 'one', creator: ANN, input: {} })),
    );
    await vi.waitFor(async () => expect(await place.models.tasks.countDocuments({ state: TASK_STATE.succeeded })).toBe(TASKS), {
      timeout: 50_000,
      interval: 200,
    });
    const queries = asked.mock.contexts.filter((query) => !isOfTest(query)).length;
    expect((queries + written.mock.calls.length) / TASKS).toBeLessThan(MOST_PER_TASK);
    expect(written).toHaveBeenCalled();
  } finally {
    asked.mockRestore();
    written.mockRestore();
  }
});

it('a lease that was asserted a second ago is asked for again, once for all who ask', async () => {
  let asked = 0;
  const kind = defineTaskKind({
    name: 'slow',
    input: z.object({}),
    maxRetries: 0,
    async run(run) {
      await run.assertLease();
      const late = performance.now() + 1_000;
      const now = vi.spyOn(performance, 'now').mockReturnValue(late);
      const writes = vi.spyOn(Query.prototype, 'exec');
      try {
        await Promise.all([run.assertLease(), run.assertLease(), run.assertLease()]);
        await run.assertLease();
        const isWrite = (query: unknown) =>
          query instanceof Query && query.model !== place.models.tasks && query.getFilter()['_id'] === run.id;
        asked = writes.mock.contexts.filter(isWrite).length;
      } finally {
        now.mockRestore();
        writes.mockRestore();
      }
    },
  });
  const engine = await place.open([kind]);
  const { _id: id } = await engine.add(kind, { name: 'one', creator: ANN, input: {} });
  await place.untilState(id, TASK_STATE.succeeded);
  expect(asked).toBe(1);
});

it('a task that is told to look again and again asks the store once more, and hears what was asked for', async () => {
  const bus = createLocalBus(() => undefined);
  const engine = await place.open([idle], { bus });
  const { _id: id } = await engine.add(idle, { name: 'one', creator: ANN, input: {} });
  await place.untilState(id, TASK_STATE.running);
  const asked = vi.spyOn(Query.prototype, 'exec');
  try {
    for (let event = 0; event < 1_000; event++) bus.publish(taskWake('fs'), { ids: [id] });
    await engine.apply('cancel', [id], 'idle', EVERYBODY);
    await place.untilState(id, TASK_STATE.canceled);
    const isWrite = (query: unknown) =>
      query instanceof Query && query.getFilter()['_id'] === id && query.getFilter()['fence'] !== undefined;
    expect(asked.mock.contexts.filter(isWrite).length).toBeLessThan(20);
  } finally {
    asked.mockRestore();
  }
});

it('a lease is surely held for a while, and not as long as it lasts', async () => {
  const told: number[] = [];
  const kind = defineTaskKind({
    name: 'held',
    input: z.object({}),
    maxRetries: 0,
    async run(run) {
      const atMs = performance.now();
      const now = vi.spyOn(performance, 'now').mockReturnValue(atMs);
      try {
        told.push((await run.heldUntil()) - atMs);
        told.push((await run.heldUntil()) - atMs);
        // What is asked of the store holds from then on.
        now.mockReturnValue(atMs + 2_000);
        told.push((await run.heldUntil()) - atMs);
      } finally {
        now.mockRestore();
      }
    },
  });
  const engine = await place.open([kind]);
  const { _id: id } = await engine.add(kind, { name: 'one', creator: ANN, input: {} });
  await place.untilState(id, TASK_STATE.succeeded);
  const [first = 0, second = 0, third = 0] = told;
  expect(first).toBeGreaterThan(0);
  expect(first).toBeLessThan(LEASE_MS);
  expect(second).toBe(first);
  expect(third).toBeCloseTo(2_000 + LEASE_MS / 2);
});

it('a task costs the same however many wait, and whoever they belong to', async () => {
  const most = 100;
  let ran = 0;
  const kind = defineTaskKind({
    name: 'first',
    input: z.object({}),
    maxRetries: 0,
    run: ({ signal }) => {
      ran += 1;
      return ran < most ? Promise.resolve() : unlessAborted(signal, new Promise(() => undefined));
    },
  });
  const adder = await place.open([kind]);
  await adder.stop();
  for (const { id } of [ANN, BOB, { id: 5 }, { id: 6 }])
    await adder.addAll(
      kind,
      Array.from({ length: 5 * most }, () => ({ name: 'one', creator: { id, name: 'user', role: 0 }, input: {} })),
    );
  const before = await documentsRead(place.url);
  await place.open([kind]);
  await vi.waitFor(() => expect(ran).toBeGreaterThanOrEqual(most), { timeout: 50_000, interval: 50 });
  expect(((await documentsRead(place.url)) - before) / most).toBeLessThan(MOST_READ_PER_TASK);
});

it('tasks that their adder takes itself are no matter of other workers; those that it has no room for are taken by others', async () => {
  const bus = createLocalBus(() => undefined);
  const wakes = vi.spyOn(bus, 'publish');
  const countWakes = () => wakes.mock.calls.filter(([subject]) => subject.name === taskWake('fs').name).length;
  const adder = await place.open([idle], { bus, concurrencyOf: async () => 11 });
  const add = async () => (await adder.add(idle, { name: 'one', creator: ANN, input: {} }))._id;
  for (let count = 0; count < 10; count += 1) await place.untilState(await add(), TASK_STATE.running);
  // A store that is slow for a moment has others told.
  expect(countWakes()).toBeLessThan(10);
  // Ten of eleven places are all that a user has.
  const before = countWakes();
  const left = await add();
  await vi.waitFor(() => expect(countWakes()).toBeGreaterThan(before));
  await place.open([idle], { bus });
  await place.untilState(left, TASK_STATE.running);
});
