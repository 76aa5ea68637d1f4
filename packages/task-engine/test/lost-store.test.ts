import { startStoreProcess } from '@wharf/harness';
import { mongo } from 'mongoose';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { defineTaskKind, TASK_STATE } from '../src/index.ts';
import { ANN, openInstallation } from './installation.ts';

it('a task that the store was lost over is not acknowledged, also not by an insert that may be repeated', async () => {
  const store = await startStoreProcess();
  const place = await openInstallation(store.url);
  try {
    const idle = defineTaskKind({ name: 'idle', input: z.object({}), maxRetries: 0, run: async () => {} });
    const engine = await place.open([idle], { concurrencyOf: async () => 0 });
    const task = { name: 'one', creator: ANN, input: {} };
    await engine.add(idle, task);
    // The command is on its way and never answered.
    store.pause();
    const adding = Promise.allSettled([engine.add(idle, task), engine.addAll(idle, [task, task])]);
    await new Promise((resolve) => setImmediate(resolve));
    await store.kill();
    expect((await adding).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  } finally {
    // Engines are closed in order where their store is.
    await store.restart();
    await place.close();
    await store.stop();
  }
});

it('an attempt that loses the store counts no failure', async () => {
  const store = await startStoreProcess();
  const place = await openInstallation(store.url);
  try {
    let attempts = 0;
    const unlucky = defineTaskKind({
      name: 'unlucky',
      input: z.object({}),
      maxRetries: 0,
      run: async () => {
        attempts += 1;
        if (attempts === 1) throw new mongo.MongoNetworkError('connection 1 closed');
      },
    });
    const engine = await place.open([unlucky]);
    const { _id: id } = await engine.add(unlucky, { name: 'one', creator: ANN, input: {} });
    expect(await place.untilState(id, TASK_STATE.succeeded)).toMatchObject({ failures: 0, error: '' });
    expect(attempts).toBe(2);
  } finally {
    await place.close();
    await store.stop();
  }
});
