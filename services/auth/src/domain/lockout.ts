import { AppError } from '@wharf/errors';
import { lasts } from '@wharf/pace';

/** How many failures within which time lock something, and for how long; times in milliseconds. */
export interface Limit {
  readonly failures: number;
  readonly windowMs: number;
  readonly lockMs: number;
}

const MINUTE_MS = 60_000;

/** Failures of one address to log in to one account. */
export const PAIR_LIMIT: Limit = { failures: 5, windowMs: 5 * MINUTE_MS, lockMs: 5 * MINUTE_MS };
/** Failures of one address to log in to any account. */
export const ADDRESS_LIMIT: Limit = { failures: 20, windowMs: 15 * MINUTE_MS, lockMs: 15 * MINUTE_MS };
/** Failures to log in to one account, from any address; it is then locked for addresses that it does not know. */
export const ACCOUNT_LIMIT: Limit = { failures: 50, windowMs: 15 * MINUTE_MS, lockMs: 15 * MINUTE_MS };
/** Wrong codes for one account, from any address. Only a caller with the password or a login can send them. */
export const CODE_LIMIT: Limit = { failures: 5, windowMs: 15 * MINUTE_MS, lockMs: 15 * MINUTE_MS };

/** What failed, and how often. */
export interface Attempts {
  readonly failures: number;
  /** The end of the window that its first failure opened or, once locked, of the lock. */
  readonly expiresAt: Date;
}

/** Where attempts are counted, for all replicas. */
export interface AttemptStore {
  find(key: string): Promise<Attempts | undefined>;
  /** Compare and set: false when the attempts are no longer those of `before`, and nothing was written. */
  replace(key: string, before: Attempts | undefined, after: Attempts): Promise<boolean>;
  /** Forgets the attempts while there are fewer than `failures`; answers what was forgotten, to one caller only. */
  clear(key: string, failures: number): Promise<Attempts | undefined>;
}

/** Counts failures and refuses what failed too often. */
export interface Lockout {
  isLocked(key: string): Promise<boolean>;
  /** False: it was locked already, and the lock stays as long as it was. */
  countFailure(key: string): Promise<boolean>;
  /** Forgets the failures, but no lock; answers how many there were. */
  forget(key: string): Promise<number>;
  /** Counts so many failures less, of those that count at this time. */
  takeBack(key: string, failures: number): Promise<void>;
}

export function createLockout(attempts: AttemptStore, limit: Limit, clock: () => number): Lockout {
  return {
    isLocked: async (key) => isLocked(await attempts.find(key), limit, clock()),
    async countFailure(key) {
      // A round that does not write means that another call wrote. At most `limit` calls can write before the lock.
      for (;;) {
        const before = await attempts.find(key);
        const after = afterFailure(before, limit, clock());
        if (!after) return false;
        if (await attempts.replace(key, before, after)) return true;
      }
    },
    async forget(key) {
      const forgotten = await attempts.clear(key, limit.failures);
      return forgotten && forgotten.expiresAt.getTime() > clock() ? forgotten.failures : 0;
    },
    async takeBack(key, failures) {
      for (;;) {
        const before = await attempts.find(key);
        if (!before || before.expiresAt.getTime() <= clock()) return;
        if (await attempts.replace(key, before, { ...before, failures: Math.max(0, before.failures - failures) })) return;
      }
    },
  };
}

/** @internal for its test */
export function isLocked(attempts: Attempts | undefined, limit: Limit, nowMs: number): boolean {
  return attempts !== undefined && attempts.failures >= limit.failures && counts(attempts, limit.lockMs, nowMs);
}

/** Whether a window or a lock of so many milliseconds goes on. Twice as much may be left, as the clocks of replicas differ. */
const counts = ({ expiresAt }: Attempts, lengthMs: number, nowMs: number): boolean => lasts(expiresAt.getTime(), nowMs, 2 * lengthMs);

/**
 * The attempts after one more failure; undefined when they are locked already, which no further attempt prolongs.
 *
 * The window is fixed: it begins with its first failure and does not move with later ones; the failure that locks starts the lock's time.
 *
 * @internal for its test
 */
export function afterFailure(attempts: Attempts | undefined, limit: Limit, nowMs: number): Attempts | undefined {
  if (isLocked(attempts, limit, nowMs)) return undefined;
  const isNew = !attempts || !counts(attempts, attempts.failures >= limit.failures ? limit.lockMs : limit.windowMs, nowMs);
  const failures = isNew ? 1 : attempts.failures + 1;
  if (failures >= limit.failures) return { failures, expiresAt: new Date(nowMs + limit.lockMs) };
  return { failures, expiresAt: isNew ? new Date(nowMs + limit.windowMs) : attempts.expiresAt };
}

/** The refusal of what is locked, in the family's words. */
export const lockedOut = () =>
  new AppError(
    'RATE_LIMITED',
    'Too many unsuccessful sign-in attempts have been made using an incorrect username or password, Try again later.',
  );
