import type { Logger } from './ops/logger.ts';
import type { StoreConnection } from './store.ts';

/** How often the store is asked for its time, in milliseconds. */
const ASK_MS = 30_000;
/** A difference that is no greater is as good as none: answers take their time too. In milliseconds. */
const EXACT_MS = 500;
/** A difference that an operator is told of, in milliseconds. */
const TOLD_MS = 5_000;

/** The time that all processes of an installation have, whatever the clocks of their machines show. */
export interface AgreedClock {
  /** Milliseconds since 1970. */
  now(): number;
  stop(): void;
}

/**
 * This machine's time, put right by the store's: what one process gives a time to (a token, a login, a link, a lease, a session), another one holds against its clock.
 *
 * @param local milliseconds since 1970, by this machine. @throws what the store throws
 */
export async function followStoreClock(
  store: StoreConnection,
  logger: Pick<Logger, 'warn'>,
  local: () => number = Date.now,
): Promise<AgreedClock> {
  let aheadMs = 0;
  const ask = async () => {
    const askedAt = local();
    const { localTime } = await store.getClient().db('admin').command({ hello: 1 });
    if (!(localTime instanceof Date)) return;
    const answeredAt = local();
    const seenMs = localTime.getTime() - (askedAt + answeredAt) / 2;
    // What an answer that takes long says is uncertain by half of that.
    if (Math.abs(seenMs - aheadMs) <= EXACT_MS + Math.abs(answeredAt - askedAt) / 2) return;
    aheadMs = Math.abs(seenMs) <= EXACT_MS ? 0 : Math.round(seenMs);
    if (Math.abs(aheadMs) > TOLD_MS)
      logger.warn({ aheadMs }, 'the clock of this machine differs from that of the store, whose time is used: set one of them right');
  };
  await ask();
  const asking = setInterval(() => void ask().catch(() => undefined), ASK_MS);
  asking.unref();
  return { now: () => local() + aheadMs, stop: () => clearInterval(asking) };
}
