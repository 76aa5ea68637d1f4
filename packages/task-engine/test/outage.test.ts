import { httpRequest, type StoreProcess, startStoreProcess, waitFor } from '@wharf/harness';
import { listenHttp, opsHandler } from '@wharf/service-kit';
import { Registry } from 'prom-client';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { z } from 'zod';
import { defineTaskKind, TASK_STATE } from '../src/index.ts';
import { LEASE_MS } from '../src/task-lease.ts';
import { ANN, gate, type Installation, openInstallation, unlessAborted } from './installation.ts';

const TASKS = 8;
/** What a store is away for at least. */
const AWAY_MS = LEASE_MS + 3_000;

let store: StoreProcess;
let place: Installation;
beforeAll(async () => {
  store = await startStoreProcess();
  place = await openInstallation(store.url);
});
afterAll(async () => {
  store?.resume();
  await place?.close();
  await store?.stop();
});

const passed = (ms: number) => {
  const startedAt = performance.now();
  return waitFor('the time of an outage', () => performance.now() - startedAt > ms, { withinMs: 2 * ms });
};

it('a store that is away for longer than a lease takes no task from a live worker', async () => {
  const hold = gate();
  const kind = defineTaskKind({
    name: 'held',
    input: z.object({}),
    maxRetries: 0,
    run: (run) => unlessAborted(run.signal, hold.opened),
    // Also what is being put away stays with who does it.
    onEnd: (_outcome, run) => unlessAborted(run.signal, hold.opened),
  });
  // One user leaves a place to others.
  const engine = await place.open([kind], { concurrencyOf: async () => TASKS / 2 + 1 });
  await place.open([kind], { concurrencyOf: async () => TASKS / 2 + 1 });
  const tasks = await engine.addAll(
    kind,
    Array.from({ length: TASKS }, () => ({ name: 'held', creator: ANN, input: {} })),
  );
  const ids = tasks.map(({ _id }) => _id);
  await waitFor('all to run', async () => (await place.models.tasks.countDocuments({ state: TASK_STATE.running })) === TASKS);
  await engine.apply('cancel', ids.slice(0, 2), 'held', { creatorId: undefined });
  // Both workers have seen the store for long enough to take over what is lost.
  await passed(LEASE_MS + 1_000);
  const before = await Promise.all(ids.map(place.read));
  store.pause();
  await passed(AWAY_MS);
  store.resume();
  await passed(LEASE_MS + 3_000);
  const after = await Promise.all(ids.map(place.read));
  expect(after.map(({ fence, losses, worker }) => ({ fence, losses, worker }))).toEqual(
    before.map(({ fence, worker }) => ({ fence, losses: 0, worker })),
  );
  hold.open();
  for (const [index, id] of ids.entries()) await place.untilState(id, index < 2 ? TASK_STATE.canceled : TASK_STATE.succeeded);
});

it('metrics tell what is known while the store is away', async () => {
  const metrics = new Registry();
  const kind = defineTaskKind({ name: 'counted', input: z.object({}), maxRetries: 0, run: async () => {} });
  const engine = await place.open([kind], { metrics });
  const { _id: id } = await engine.add(kind, { name: 'counted', creator: ANN, input: {} });
  await place.untilState(id, TASK_STATE.succeeded);
  const readiness = { require: () => {}, parts: () => new Map(), missing: () => [], drain: () => {} };
  const ops = await listenHttp(opsHandler(readiness, metrics), '127.0.0.1', 0);
  store.pause();
  try {
    const answer = await httpRequest(ops.url, { path: '/metrics' });
    expect(answer.status).toBe(200);
    expect(answer.text()).toContain('wharf_fs_task_attempts_total{kind="counted",result="succeeded"} 1');
    expect(answer.text()).toContain('# wharf_fs_tasks is not known at the moment');
  } finally {
    store.resume();
    await ops.stop(0);
  }
});
