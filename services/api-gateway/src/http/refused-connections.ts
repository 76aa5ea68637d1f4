import { isYounger } from '@wharf/pace';
import type { Logger } from '@wharf/service-kit';

/** Whoever opens connections without end does not fill the log: one line in so long a time, in milliseconds. */
const QUIET_MS = 60_000;

/** Tells in the log which address was refused connections, and of how many nothing was said before. @param clock milliseconds */
export function createRefusedConnections(logger: Pick<Logger, 'warn'>, clock: () => number): (address: string) => void {
  let toldAt = Number.NEGATIVE_INFINITY;
  let unsaid = 0;
  return (address) => {
    if (isYounger(toldAt, clock(), QUIET_MS)) {
      unsaid += 1;
      return;
    }
    logger.warn({ address, unsaid }, 'connections were closed: this address has as many as one may have');
    toldAt = clock();
    unsaid = 0;
  };
}
