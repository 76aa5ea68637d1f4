import { expect, it } from 'vitest';
import { newTaskId } from './task-id.ts';

it('an id is 21 characters that need no escape in an address, and never the same', () => {
  const ids = Array.from({ length: 10_000 }, newTaskId);
  for (const id of ids) expect(id).toMatch(/^[\w-]{21}$/);
  expect(new Set(ids).size).toBe(ids.length);
});
