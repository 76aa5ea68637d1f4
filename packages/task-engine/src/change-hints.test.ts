import { MAX_TOLD_TASKS, type TaskRecord } from '@wharf/models';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { createChangeHints, type TaskChanges } from './change-hints.ts';

const record = (progress: number, more: Partial<TaskRecord> = {}) =>
  ({ _id: 'a', creator_id: 1, status: '', forget: false, progress, ...more }) as TaskRecord;

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

it('the first change is told of at once, and of those that follow shortly the last one', () => {
  const told: number[] = [];
  const hints = createChangeHints(({ last }) => told.push(last.progress));
  for (const progress of [1, 2, 3]) hints.changed(record(progress));
  expect(told).toEqual([1]);
  vi.advanceTimersByTime(50);
  expect(told).toEqual([1, 3]);
  hints.changed(record(4));
  expect(told).toEqual([1, 3]);
  vi.advanceTimersByTime(50);
  vi.advanceTimersByTime(50);
  hints.changed(record(5));
  expect(told).toEqual([1, 3, 4, 5]);
});

it('what is untold at the end is told then, and what comes later at once', () => {
  const told: number[] = [];
  const hints = createChangeHints(({ last }) => told.push(last.progress));
  for (const progress of [1, 2]) hints.changed(record(progress));
  hints.close();
  for (const progress of [3, 4]) hints.changed(record(progress));
  expect(told).toEqual([1, 2, 3, 4]);
});

it('what the store has of all that changed is told whole, with whose it is', () => {
  const told: TaskChanges[] = [];
  const hints = createChangeHints((changes) => told.push(changes));
  hints.changed(record(0), true);
  hints.changed(record(1, { _id: 'a' }), true);
  hints.changed(record(2, { _id: 'b', creator_id: 2 }), true);
  const [first, second] = [record(3, { _id: 'a' }), record(2, { _id: 'b', creator_id: 2 })];
  hints.changed(first, true);
  vi.advanceTimersByTime(50);
  expect(told[1]).toEqual({ last: first, creators: [1, 2], stored: [first, second] });
});

it.each([
  ['one that only the store knows', [record(1), false]],
  ['one that was deleted', [record(1, { forget: true }), true]],
  ['one with a long status', [record(1, { status: 'x'.repeat(1_001) }), true]],
] as const)('of %s, and of those told with it, the store tells', (_, [changed, isStored]) => {
  const told: TaskChanges[] = [];
  const hints = createChangeHints((changes) => told.push(changes));
  hints.changed(record(0), true);
  hints.changed(record(1, { _id: 'b' }), true);
  hints.changed(changed, isStored);
  vi.advanceTimersByTime(50);
  hints.changed(record(2), true);
  vi.advanceTimersByTime(50);
  expect(told.map(({ stored }) => stored?.length)).toEqual([1, undefined, 1]);
});

it('more tasks, or users, than an event has are not told', () => {
  const told: TaskChanges[] = [];
  const hints = createChangeHints((changes) => told.push(changes));
  for (let count = 0; count <= MAX_TOLD_TASKS + 1; count += 1) hints.changed(record(0, { _id: `${count}`, creator_id: count }), true);
  vi.advanceTimersByTime(50);
  expect(told[1]).toMatchObject({ stored: undefined, creators: undefined });
});
