import { AppError } from '@wharf/errors';

/**
 * What a run throws that cannot go on for now, through no fault of its task: the task goes back to the queue, takes no worker, counts no
 * failure, and is run again after a while, or at the next {@link TaskEngine.hurry}.
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
