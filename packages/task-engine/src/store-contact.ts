import { LEASE_MS } from './task-lease.ts';

/** A store that was silent for so long, in milliseconds, may have kept others from renewing their leases in time. */
const GAP_MS = LEASE_MS / 2;

/**
 * Whether a worker may believe the leases that it reads. A store that was away, and a process that was stopped, make every lease look expired:
 * after an error, a gap and its own start a worker leaves others a whole lease to renew theirs.
 */
export interface StoreContact {
  /** Asks the store something. @throws whatever asking throws */
  through<Answer>(ask: () => Promise<Answer>): Promise<Answer>;
  /** True when the store has answered without a gap for as long as a lease. */
  isSteady(): boolean;
}

/** @param now milliseconds, monotonic. */
export function createStoreContact(now: () => number = () => performance.now()): StoreContact {
  let answeredAt = Number.NEGATIVE_INFINITY;
  let steadySince = Number.POSITIVE_INFINITY;
  const isSilent = () => now() - answeredAt > GAP_MS;
  return {
    async through(ask) {
      try {
        const answer = await ask();
        if (isSilent()) steadySince = now();
        answeredAt = now();
        return answer;
      } catch (error) {
        answeredAt = Number.NEGATIVE_INFINITY;
        throw error;
      }
    },
    isSteady: () => !isSilent() && now() - steadySince >= LEASE_MS,
  };
}
