import { AppError } from '@wharf/errors';
import { foreseen, STORE_AWAY } from './store-outage.ts';
import { within } from './within.ts';

/** How long to wait for the store when no kept value could be answered, in milliseconds. */
const LIMIT_MS = 30_000;
/** How long to wait for the store when a kept value could be answered, in milliseconds. */
const PATIENCE_MS = 2_000;
/** The greatest age, in milliseconds, of a kept value that is answered while the store is away. */
export const MAX_KEPT_MS = 60_000;

/** Reads that can be answered from kept values while the store is away. */
export interface StoreAsker {
  /** @throws AppError STORAGE_UNAVAILABLE: the store does not answer; and what `read` throws */
  ask<Value>(reading: Promise<Value>): Promise<Value>;
  /**
   * Waits a short time for a reading. Does not wait at all once the store is known to be away.
   * @param kept the value that may be answered instead, asked for only then; undefined: there is none. @throws as ask()
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
      // A caller that got a kept value does not hear of a later failure.
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
