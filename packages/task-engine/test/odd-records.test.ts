import { connectStore } from '@wharf/service-kit';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { createHousekeeping } from '../src/housekeeping.ts';
import { defineTaskKind, holdBackup, TASK_STATE } from '../src/index.ts';
import type { StoreClock } from '../src/store-clock.ts';
import { createTaskSnapshots } from '../src/task-snapshot.ts';
import { ANN, BOB, EVERYBODY, type Installation, openOwnInstallation } from './installation.ts';

let place: Installation;
beforeAll(async () => {
  place = await openOwnInstallation('odd-records');
});
afterAll(() => place?.close());

const kind = defineTaskKind({ name: 'odd', input: z.object({}), maxRetries: 0, run: async () => {} });

/** Tasks that wait: one that is damaged, and those of others behind it. */
async function queue(damage: Record<string, unknown>): Promise<{ odd: string; others: string[] }> {
  await place.models.tasks.deleteMany();
  const engine = await place.open([kind]);
  await engine.stop();
  const [odd, ...others] = await engine.addAll(
    kind,
    [ANN, ANN, BOB].map((creator, index) => ({ name: `task ${index}`, creator, input: {} })),
  );
  const id = odd?._id ?? '';
  const { $unset: gone, ...rest } = damage;
  await place.models.tasks.collection.updateOne({ _id: id } as object, gone ? { $unset: gone } : { $set: rest });
  return { odd: id, others: others.map(({ _id }) => _id) };
}

describe('a task that is stored oddly', () => {
  it.each([
    { fence: 'x' },
    { fence: Number.NaN },
    { fence: [5], revision: [] },
    { fence: Number.POSITIVE_INFINITY, revision: Number.NaN },
    { revision: 'x' },
    { revision: null },
    { $unset: { revision: '' } },
    // Its worker is gone.
    { state: TASK_STATE.running, waiting: false, worker: 'lost', lease_until: new Date(0), revision: null },
    { state: TASK_STATE.running, waiting: false, worker: 'lost', lease_until: new Date(0), losses: 'x' },
    { state: TASK_STATE.canceling, waiting: false, lease_until: new Date(0), fence: {} },
  ])('keeps no other one from being begun, and comes to its end: %j', async (damage) => {
    const { odd, others } = await queue(damage);
    const worker = await place.open([kind], { concurrencyOf: async () => 2 });
    // It would take the tasks of the tests that follow.
    onTestFinished(() => worker.stop());
    for (const id of others) await place.untilState(id, TASK_STATE.succeeded);
    await place.untilState(odd, damage.state === TASK_STATE.canceling ? TASK_STATE.canceled : TASK_STATE.succeeded);
  });

  it.each([{ revision: 'x' }, { fence: null, revision: null }])('is paused in a backup with all others: %j', async (damage) => {
    const { odd, others } = await queue(damage);
    const store = await connectStore(place.url);
    onTestFinished(() => store.close());
    expect(await holdBackup(store)).toBe(3);
    for (const id of [odd, ...others]) expect(await place.read(id)).toMatchObject({ paused: true, revision: expect.any(Number) });
  });

  it('goes with all others where it has ended', async () => {
    const { odd, others } = await queue({ revision: 'x' });
    await place.models.tasks.updateMany({}, { $set: { done: true, waiting: false, state: TASK_STATE.failed, end_time: new Date(0) } });
    const clock = { now: () => new Date() } as StoreClock;
    await createHousekeeping(place.models, clock, [kind.name]).run();
    for (const id of [odd, ...others]) expect(await place.read(id)).toMatchObject({ forget: true });
  });

  it.each([{ name: null }, { creator_role: 'x' }, { start_time: 'x' }, { error: 7 }, { created_at: null }])(
    'is shown with what can be read of it: %j',
    async (damage) => {
      const { odd, others } = await queue(damage);
      const pieces = await Array.fromAsync(createTaskSnapshots([place.models]).of(EVERYBODY));
      const shown: Record<string, unknown>[] = JSON.parse(pieces.join(''));
      expect(shown.map(({ id }) => id).toSorted()).toEqual([odd, ...others].toSorted());
      const { name, creator_role, start_time, error } = shown.find(({ id }) => id === odd) ?? {};
      expect([typeof name, typeof creator_role, start_time, error]).toEqual(['string', 'number', null, '']);
    },
  );
});
