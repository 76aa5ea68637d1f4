import { connectStore } from '@wharf/service-kit';
import { expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { defineTaskKind, holdBackup, TASK_STATE } from '../src/index.ts';
import { ANN, EVERYBODY, openOwnInstallation } from './installation.ts';

it('no task of a backup is worked on or put away by itself: the original may have tried it again since', async () => {
  const installation = await openOwnInstallation('hold-backup');
  onTestFinished(() => installation.close());
  const { tasks } = installation.models;
  const touched: string[] = [];
  const kind = defineTaskKind({
    name: 'shared',
    input: z.object({}),
    maxRetries: 0,
    run: async ({ id }) => void touched.push(`run ${id}`),
    onEnd: async (_, { id }) => void touched.push(`end ${id}`),
  });
  const engine = await installation.open([kind]);
  await engine.stop();
  const states = ['pending', 'waitingRetry', 'running', 'canceling', 'failing', 'succeeded'] as const;
  const ids: Record<string, string> = {};
  for (const state of [...states, 'lost'] as const) {
    const { _id: id } = await engine.add(kind, { name: state, creator: ANN, input: {} });
    ids[state] = id;
    const [is, losses] = state === 'lost' ? [TASK_STATE.running, 4] : [TASK_STATE[state], 0];
    // As it was in the moment of the backup: its workers are not here.
    const held = {
      state: is,
      losses,
      worker: 'of the original',
      lease_until: new Date(0),
      waiting: state === 'pending' || state === 'waitingRetry',
    };
    await tasks.updateOne({ _id: id }, { $set: { ...held, done: state === 'succeeded' } });
  }
  const store = await connectStore(installation.url);
  onTestFinished(() => store.close());
  for (const _ of ['killed', 'again']) expect(await holdBackup(store)).toBe(4);

  const again = await installation.open([kind]);
  const { _id: fresh } = await again.add(kind, { name: 'new', creator: ANN, input: {} });
  await installation.untilState(fresh, TASK_STATE.succeeded);
  expect(touched).toEqual([`run ${fresh}`]);
  const found = await Promise.all(Object.entries(ids).map(async ([name, id]) => [name, await installation.read(id)] as const));
  expect(Object.fromEntries(found.map(([name, { state, paused, done }]) => [name, { state, paused, done }]))).toEqual({
    ...Object.fromEntries(
      ['pending', 'waitingRetry', 'running', 'lost'].map((name) => [name, { state: TASK_STATE.pending, paused: true, done: false }]),
    ),
    canceling: { state: TASK_STATE.canceled, paused: false, done: true },
    failing: { state: TASK_STATE.failed, paused: false, done: true },
    succeeded: { state: TASK_STATE.succeeded, paused: false, done: true },
  });
  await again.apply('resume', [ids['running'] ?? ''], kind.list, EVERYBODY);
  await installation.untilState(ids['running'] ?? '', TASK_STATE.succeeded);
});
