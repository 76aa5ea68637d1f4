import { expect, it, onTestFinished, vi } from 'vitest';
import { tidyNowAndThen } from './store-server.ts';

const PAUSE_MS = 60_000;

it('what is due is removed without pauses while there is more, in turns with others, and then now and then', () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  let left = 0;
  let turns = 0;
  const tidy = () => {
    turns += 1;
    left -= 1;
    return left > 0;
  };
  const stop = tidyNowAndThen({ tidy }, PAUSE_MS);
  left = 40;
  vi.advanceTimersByTime(PAUSE_MS);
  expect(turns).toBe(1);
  vi.advanceTimersByTime(PAUSE_MS - 1);
  expect([turns, left]).toEqual([40, 0]);
  vi.advanceTimersByTime(PAUSE_MS);
  expect(turns).toBe(41);
  stop();
  vi.advanceTimersByTime(10 * PAUSE_MS);
  expect(turns).toBe(41);
});
