import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { collectWhenIdle } from './collect-when-idle.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

it('collects once after work, when it has come to rest', () => {
  let used = 0;
  let collected = 0;
  const stop = collectWhenIdle({ usedMs: () => used, collect: () => (collected += 1) });
  /** Looks `times` times, with so much processor time before each. */
  const look = (usedMs: number, times = 1) => {
    for (let time = 0; time < times; time += 1) {
      used += usedMs;
      vi.advanceTimersByTime(5_000);
    }
    return collected;
  };
  expect(look(2_000, 3), 'while it works').toBe(0);
  expect(look(20), 'at rest').toBe(1);
  expect(look(20, 10), 'nothing came since').toBe(1);
  expect(look(200, 3), 'a little at a time adds up').toBe(2);
  stop();
  expect(look(2_000) + look(0), 'stopped').toBe(4);
});

it('has a collector of its own', () => {
  collectWhenIdle()();
});
