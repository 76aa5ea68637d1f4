import { describe, expect, it } from 'vitest';
import { type Attempts, afterFailure as afterFailureOf, isLocked as isLockedBy, PAIR_LIMIT } from './lockout.ts';

const START = 1_700_000_000_000;
const MINUTE = 60_000;
const { windowMs, lockMs } = PAIR_LIMIT;

const afterFailure = (attempts: Attempts | undefined, nowMs: number) => afterFailureOf(attempts, PAIR_LIMIT, nowMs);
const isLocked = (attempts: Attempts | undefined, nowMs: number) => isLockedBy(attempts, PAIR_LIMIT, nowMs);

/** The attempts after failures at these times. */
const failuresAt = (...times: number[]) =>
  times.reduce<Attempts | undefined>((known, time) => afterFailure(known, time) ?? known, undefined);

describe('the lockout of an address with an account', () => {
  it('four failures do not lock, the fifth does, for five minutes from then', () => {
    const four = failuresAt(START, START + 1, START + 2, START + 3);
    expect(isLocked(four, START + 4)).toBe(false);
    const five = afterFailure(four, START + MINUTE);
    expect(isLocked(five, START + MINUTE)).toBe(true);
    expect(isLocked(five, START + MINUTE + lockMs - 1)).toBe(true);
    expect(isLocked(five, START + MINUTE + lockMs)).toBe(false);
  });

  it('attempts while locked change nothing, so they do not prolong it', () => {
    const locked = failuresAt(START, START, START, START, START);
    expect(afterFailure(locked, START + 4 * MINUTE)).toBeUndefined();
  });

  it('the window begins with its first failure and does not move with later ones', () => {
    const four = failuresAt(START, START + 4 * MINUTE, START + 4 * MINUTE, START + 4 * MINUTE);
    expect(four?.expiresAt.getTime()).toBe(START + windowMs);
    expect(afterFailure(four, START + windowMs)).toEqual({
      failures: 1,
      expiresAt: new Date(START + 2 * windowMs),
    });
  });

  it('the count starts anew after a lock', () => {
    const locked = failuresAt(START, START, START, START, START);
    expect(afterFailure(locked, START + lockMs)?.failures).toBe(1);
  });

  it('a lock and a window that were begun before the clock was set back are over', () => {
    const locked = failuresAt(START, START, START, START, START);
    const [setBack, elsewhere] = [START - lockMs - 1, START - MINUTE];
    expect([isLocked(locked, setBack), isLocked(locked, elsewhere)]).toEqual([false, true]);
    expect(afterFailure(locked, setBack)?.failures).toBe(1);
    const four = failuresAt(START, START, START, START);
    expect([afterFailure(four, setBack)?.failures, afterFailure(four, elsewhere)?.failures]).toEqual([1, 5]);
  });
});
