import { AppError } from '@wharf/errors';
import { foreseen, STORE_AWAY } from './store-outage.ts';
import { within } from './within.ts';

/** How long to wait for the store where there is nothing else to answer from, in milliseconds. */
const LIMIT_MS = 30_000;
/** How long to wait for it where what is known will do, in milliseconds. */
const PATIENCE_MS = 2_000;
/** What was read so long ago, in milliseconds, answers reads while the store is away; nothing older does. */
export const MAX_KEPT_MS = 60_000;

/** Reads that can be answered from what is known while the store is away. */
export interface StoreAsker {
  /** @throws AppError STORAGE_UNAVAILABLE: the store does not answer; and what `read` throws */
  ask<Value>(reading: Promise<Value>): Promise<Value>;
  /**
   * Waits a little for a reading, and for none at all once the store is known to be away.
   * @param kept what may be answered instead, when it is asked for; undefined: nothing. @throws as ask()
   */
  askOrKeep<Value>(reading: Promise<Value>, kept: () => Value | undefined): Promise<Value>;
}

export function createStoreAsker(): StoreAsker {
  let isAway = false;
  const ask = async <Value>(reading: Promise<Value>): Promise<Value> => {
    try {
      const value = await within(LIMIT_MS, reading, STORE_AWAY);
      isAway = false;
      return value;
    } catch (error) {
      if (!isOutage(error)) throw error;
      isAway = true;
      throw new AppError('STORAGE_UNAVAILABLE', STORE_AWAY, { cause: error });
    }
  };
  return {
    ask,
    async askOrKeep(reading, kept) {
      const asking = ask(reading);
      // Whoever is answered from what is kept does not hear how it went on.
      asking.catch(() => undefined);
      try {
        return await (isAway ? Promise.reject(new AppError('STORAGE_UNAVAILABLE', STORE_AWAY)) : within(PATIENCE_MS, asking, STORE_AWAY));
      } catch (error) {
        if (!isOutage(error)) throw error;
        isAway = true;
        return kept() ?? asking;
      }
    },
  };
}

function isOutage(error: unknown): boolean {
  return AppError.is(error, 'DEADLINE_EXCEEDED') || AppError.is(foreseen(error), 'STORAGE_UNAVAILABLE');
}
