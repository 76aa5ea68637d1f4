import { describe, expect, it } from 'vitest';
import { type Attempts, afterFailure, isLocked, LOCKOUT, lockoutKey } from './lockout.ts';

const START = 1_700_000_000_000;
const MINUTE = 60_000;

/** The attempts after failures at these times. */
const failuresAt = (...times: number[]) =>
  times.reduce<Attempts | undefined>((known, time) => afterFailure(known, time) ?? known, undefined);

describe('the lockout of an address', () => {
  it('four failures do not lock, the fifth does, for five minutes from then', () => {
    const four = failuresAt(START, START + 1, START + 2, START + 3);
    expect(isLocked(four, START + 4)).toBe(false);
    const five = afterFailure(four, START + MINUTE);
    expect(isLocked(five, START + MINUTE)).toBe(true);
    expect(isLocked(five, START + MINUTE + LOCKOUT.durationMs - 1)).toBe(true);
    expect(isLocked(five, START + MINUTE + LOCKOUT.durationMs)).toBe(false);
  });

  it('attempts while locked change nothing, so they do not prolong it', () => {
    const locked = failuresAt(START, START, START, START, START);
    expect(afterFailure(locked, START + 4 * MINUTE)).toBeUndefined();
  });

  it('the window begins with its first failure and does not move with later ones', () => {
    const four = failuresAt(START, START + 4 * MINUTE, START + 4 * MINUTE, START + 4 * MINUTE);
    expect(four?.expiresAt.getTime()).toBe(START + LOCKOUT.durationMs);
    expect(afterFailure(four, START + LOCKOUT.durationMs)).toEqual({
      failures: 1,
      expiresAt: new Date(START + 2 * LOCKOUT.durationMs),
    });
  });

  it('the count starts anew after a lock', () => {
    const locked = failuresAt(START, START, START, START, START);
    expect(afterFailure(locked, START + LOCKOUT.durationMs)?.failures).toBe(1);
  });

  it.each([
    ['192.0.2.1', 'address 192.0.2.1'],
    ['::ffff:192.0.2.1', 'address 192.0.2.1'],
    ['::FFFF:192.0.2.1', 'address 192.0.2.1'],
    ['2001:db8::1', 'address 2001:db8::1'],
    ['::ffff:c000:201', 'address ::ffff:c000:201'],
  ])('%s counts as %s', (address, key) => {
    expect(lockoutKey(address)).toBe(key);
  });
});
