import { afterEach, expect, it, vi } from 'vitest';
import { createRateLimit } from './rate-limit.ts';

afterEach(() => {
  vi.useRealTimers();
});

it('goes on when the clock is set back', async () => {
  vi.useFakeTimers({ toFake: ['Date'] });
  const limit = createRateLimit(1_000_000);
  await limit.take(1_000, AbortSignal.timeout(5_000));
  vi.setSystemTime(Date.now() - 3_600_000);
  await expect(limit.take(1_000, AbortSignal.timeout(5_000))).resolves.toBeUndefined();
});

it('others do not wait for what was given up', async () => {
  const limit = createRateLimit(1_000);
  const gone = new AbortController();
  // An hour of the rate each.
  const given = Array.from({ length: 10 }, () => limit.take(3_600_000, gone.signal).catch(() => 'given up'));
  gone.abort();
  expect(new Set(await Promise.all(given))).toEqual(new Set(['given up']));
  await expect(limit.take(1, AbortSignal.timeout(20_000))).resolves.toBeUndefined();
});
