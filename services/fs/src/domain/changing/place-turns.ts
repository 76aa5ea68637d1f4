import { createKeyedTurns, unlessAborted } from '@wharf/pace';

/** Waits for a turn at a place, which is had until `over`. @throws the reason of the signal; what the store of turns throws */
export type TakeTurn = (place: string, over: Promise<unknown>, signal: AbortSignal) => Promise<void>;

/** Turns of one process. */
export function createOwnTurns(): TakeTurn {
  const turns = createKeyedTurns<string>();
  return async (place, over, signal) => {
    const { promise: isOurs, resolve: come } = Promise.withResolvers<void>();
    void turns(place, () => {
      come();
      return over;
    });
    await unlessAborted(signal, isOurs);
  };
}
