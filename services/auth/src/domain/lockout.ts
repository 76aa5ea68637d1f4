/** How many failures lock an address, and how long failures and locks last, in milliseconds. */
export const LOCKOUT = { failures: 5, durationMs: 5 * 60_000 } as const;

/** Failed logins of one address. */
export interface Attempts {
  readonly failures: number;
  /** The end of the window that its first failure opened or, once locked, of the lock. */
  readonly expiresAt: Date;
}

export function isLocked(attempts: Attempts | undefined, nowMs: number): boolean {
  return attempts !== undefined && attempts.failures >= LOCKOUT.failures && attempts.expiresAt.getTime() > nowMs;
}

/**
 * The attempts after one more failure; undefined when the address is locked already, which no further attempt prolongs.
 *
 * The window is fixed: it begins with its first failure and does not move with later ones; the failure that locks starts the lock's time.
 */
export function afterFailure(attempts: Attempts | undefined, nowMs: number): Attempts | undefined {
  if (isLocked(attempts, nowMs)) return undefined;
  const fullTime = new Date(nowMs + LOCKOUT.durationMs);
  if (!attempts || attempts.expiresAt.getTime() <= nowMs) return { failures: 1, expiresAt: fullTime };
  const failures = attempts.failures + 1;
  return { failures, expiresAt: failures >= LOCKOUT.failures ? fullTime : attempts.expiresAt };
}

/** One address has one counter, in whichever of its two forms an IPv4 client shows up. */
export function lockoutKey(address: string): string {
  return `address ${address.replace(/^::ffff:(?=\d+\.)/i, '')}`;
}
