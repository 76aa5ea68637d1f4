import type { TaskRecord } from '@wharf/models';
import { expect, it } from 'vitest';
import { createHeldTasks } from './held-tasks.ts';
import { LEASE_MS } from './task-lease.ts';

it('a lease was never asked for in the time to come, where the clock of the store was set back right after that', () => {
  let nowMs = 1_800_000_000_000;
  const held = createHeldTasks({ tasks: {} as never }, { now: () => new Date(nowMs), sync: async () => {} });
  const taken = { lease_until: new Date(nowMs + LEASE_MS) } as TaskRecord;
  nowMs += 200;
  expect(held.askedAgoMs(taken)).toBe(200);
  nowMs -= 3_600_000;
  expect(held.askedAgoMs(taken)).toBe(0);
});
