import { expect, it } from 'vitest';
import { z } from 'zod';
import { newTaskRecords } from './new-task.ts';
import { defineTaskKind } from './task-kind.ts';

it.each([1, 250, 500, 1_000])('the records of %i tasks come in pieces of at most a hundred, each made when its turn has come', (count) => {
  let made = 0;
  const input = z.object({}).refine(() => {
    made += 1;
    return true;
  });
  const kind = defineTaskKind({ name: 'counted', input, maxRetries: 0, run: async () => {} });
  const tasks = Array.from({ length: count }, (_, index) => ({ name: `${index}`, creator: undefined, input: {} }));
  const names: string[] = [];
  let lastAt = -1;
  for (const piece of newTaskRecords(kind, tasks, new Date(0))) {
    expect(piece.length).toBeLessThanOrEqual(100);
    expect(made).toBe(names.length + piece.length);
    for (const { name, created_at, run_at } of piece) {
      names.push(name);
      expect([created_at.getTime(), run_at.getTime()]).toEqual([lastAt + 1, 0]);
      lastAt += 1;
    }
  }
  expect(names).toEqual(tasks.map(({ name }) => name));
});
