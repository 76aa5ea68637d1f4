import { isYounger } from '@wharf/pace';
import type { Logger } from '../ops/logger.ts';
import type { OnBusError } from './bus.ts';

/** At most one line for each subject in so long a time, in milliseconds: whoever floods the bus does not fill the log. */
const QUIET_MS = 1_000;
const MAX_TEXT = 1_000;

/** Logs what a bus could not do, as one short text. @param clock milliseconds */
export function createBusErrors(logger: Pick<Logger, 'warn'>, clock: () => number): OnBusError {
  const known = new Map<string, { loggedAt: number; unsaid: number }>();
  return (error, subject) => {
    const last = known.get(subject);
    if (last && isYounger(last.loggedAt, clock(), QUIET_MS)) {
      last.unsaid += 1;
      return;
    }
    known.set(subject, { loggedAt: clock(), unsaid: 0 });
    const problem = (error instanceof Error ? error.message : String(error)).slice(0, MAX_TEXT);
    logger.warn({ subject, problem, unsaid: last?.unsaid ?? 0 }, 'bus');
  };
}
