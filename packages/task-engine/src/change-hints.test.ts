import type { TaskRecord } from '@wharf/models';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { createChangeHints } from './change-hints.ts';

const record = (progress: number) => ({ _id: 'a', progress }) as TaskRecord;

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

it('the first change is told of at once, and of those that follow shortly the last one', () => {
  const told: number[] = [];
  const hints = createChangeHints(({ progress }) => told.push(progress));
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
  const hints = createChangeHints(({ progress }) => told.push(progress));
  for (const progress of [1, 2]) hints.changed(record(progress));
  hints.close();
  for (const progress of [3, 4]) hints.changed(record(progress));
  expect(told).toEqual([1, 2, 3, 4]);
});
