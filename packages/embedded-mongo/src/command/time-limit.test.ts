import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { TimeLimit } from './time-limit.ts';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['performance'] });
});
afterEach(() => {
  vi.useRealTimers();
});

/** Takes items that cost a millisecond each; how many there was time for. */
function work(limit: TimeLimit, items: number): number {
  let taken = 0;
  try {
    for (const _ of limit.over(Array.from({ length: items }))) {
      taken += 1;
      vi.advanceTimersByTime(1);
    }
  } catch (error) {
    expect(error).toMatchObject({ code: 50 });
  }
  return taken;
}

it('ends work that takes longer, and none where there is no limit', () => {
  expect(work(new TimeLimit(300), 10_000)).toBe(320);
  expect(work(new TimeLimit(0), 10_000)).toBe(10_000);
});

it('counts the work of all steps, and not what lies between them', () => {
  const limit = new TimeLimit(300);
  for (let step = 0; step < 2; step += 1) {
    expect(work(limit, 128), `step ${step}`).toBe(128);
    limit.pause();
    vi.advanceTimersByTime(10_000);
    limit.resume();
  }
  expect(work(limit, 128)).toBe(64);
});
