import { afterEach, expect, it, vi } from 'vitest';
import { createArgon2 } from './argon2.ts';

const MINUTE_MS = 60_000;

afterEach(() => void vi.useRealTimers());

it('a hash that is asked for while the idle thread ends gets a thread of its own', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const argon2 = createArgon2();
  const hash = await argon2.hash('secret');
  await vi.advanceTimersByTimeAsync(MINUTE_MS);
  expect(await argon2.verify(hash, 'secret')).toBe(true);
  expect(await argon2.verify(hash, 'other')).toBe(false);
  await argon2.close();
});
