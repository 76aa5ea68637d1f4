import { expect, it } from 'vitest';
import { derivedTaskId, newTaskId } from './task-id.ts';

it('an id is 21 characters that need no escape in an address, and never the same', () => {
  const ids = Array.from({ length: 10_000 }, newTaskId);
  for (const id of ids) expect(id).toMatch(/^[\w-]{21}$/);
  expect(new Set(ids).size).toBe(ids.length);
});

it('a derived id is the same for the same part of the same task, and no other', () => {
  expect(derivedTaskId('parent', 'a')).toMatch(/^[\w-]{21}$/);
  expect(derivedTaskId('parent', 'a')).toBe(derivedTaskId('parent', 'a'));
  expect(
    new Set([derivedTaskId('parent', 'a'), derivedTaskId('parent', 'b'), derivedTaskId('parenta', ''), derivedTaskId('other', 'a')]).size,
  ).toBe(4);
});
