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
