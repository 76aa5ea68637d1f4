import { Query } from 'mongoose';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { defineTaskKind } from '../src/index.ts';
import { TASK_STATE } from '../src/task-state.ts';
import { ANN, type Installation, openOwnInstallation } from './installation.ts';

const TASKS = 300;
/** What a task costs: it is taken, and ended. What the queue is asked every second, and beside a user's share, is another half. */
const MOST_PER_TASK = 2.5;

const quick = defineTaskKind({ name: 'quick', input: z.object({}), maxRetries: 0, run: async () => undefined });
const other = defineTaskKind({ name: 'other', input: z.object({}), maxRetries: 0, run: async () => undefined });

let place: Installation;
beforeEach(async () => {
  place = await openOwnInstallation('cost-of-running');
});
afterEach(() => place.close());

it('a task that ends at once is taken and ended, and the store is asked nothing else for it', async () => {
  const engine = await place.open([quick, other], { concurrencyOf: async () => 2 });
  const asked = vi.spyOn(Query.prototype, 'exec');
  const isOfTest = (query: unknown) => query instanceof Query && query.model === place.models.tasks;
  try {
    await engine.addAll(
      quick,
      Array.from({ length: TASKS }, () => ({ name: 'one', creator: ANN, input: {} })),
    );
    await vi.waitFor(async () => expect(await place.models.tasks.countDocuments({ state: TASK_STATE.succeeded })).toBe(TASKS), {
      timeout: 50_000,
      interval: 200,
    });
    expect(asked.mock.contexts.filter((query) => !isOfTest(query)).length / TASKS).toBeLessThan(MOST_PER_TASK);
  } finally {
    asked.mockRestore();
  }
});
