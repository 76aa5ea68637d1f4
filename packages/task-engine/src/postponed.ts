import { AppError } from '@wharf/errors';

const FIRST_BACKOFF_MS = 1_000;
const MAX_BACKOFF_MS = 60_000;

/** The pause before another attempt, in milliseconds: twice the one before, up to a minute. @param attempts there were, at least 1 */
export function backoffMs(attempts: number): number {
  return Math.min(MAX_BACKOFF_MS, FIRST_BACKOFF_MS * 2 ** (attempts - 1));
}

/**
 * Makes the error that a run throws when its task has to wait. The task goes back to the queue, occupies no worker and counts no failure.
 * It is run again after a while, or at the next {@link TaskEngine.hurry}.
 *
 * @param status tells people what it waits for.
 */
export function postponed(status: string, forMs: number): AppError {
  return new AppError('RATE_LIMITED', status, { details: { postponedMs: forMs } });
}

/** For how long a run was postponed, in milliseconds; undefined: it failed. */
export function postponedMs(error: unknown): number | undefined {
  const ms = AppError.is(error) ? error.details.postponedMs : undefined;
  return typeof ms === 'number' ? ms : undefined;
}
