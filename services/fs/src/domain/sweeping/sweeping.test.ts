import { expect, it, onTestFinished, vi } from 'vitest';
import { createSweeping } from './sweeping.ts';

it('a sweep that takes longer than the pause has no other one beside it, and the next one comes when it has ended', async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const sweeps: PromiseWithResolvers<void>[] = [];
  const failed: unknown[] = [];
  const sweep = () => {
    const next = Promise.withResolvers<void>();
    sweeps.push(next);
    return next.promise;
  };
  const { start, stop } = createSweeping(sweep, 1_000, (error) => failed.push(error));
  start();
  await vi.advanceTimersByTimeAsync(10_500);
  expect(sweeps.length).toBe(1);
  sweeps[0]?.reject('the storage is away');
  await vi.advanceTimersByTimeAsync(0);
  expect([sweeps.length, failed]).toEqual([2, ['the storage is away']]);
  sweeps[1]?.resolve();
  await vi.advanceTimersByTimeAsync(1_000);
  expect(sweeps.length).toBe(3);
  stop();
  sweeps[2]?.resolve();
  await vi.advanceTimersByTimeAsync(10_000);
  expect(sweeps.length).toBe(3);
});
