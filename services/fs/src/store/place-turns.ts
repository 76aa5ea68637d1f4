import { createHash, randomInt, randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { isDuplicateKey, type Models, makeIndexes } from '@wharf/models';
import { createOwnTurns, type TakeTurn } from '../domain/changing/place-turns.ts';

/** So long, in milliseconds, is the turn of a process kept that has ended. */
const LEASE_MS = 30_000;
/** Pauses between two questions whether it is free, in milliseconds. */
const [SHORTEST_PAUSE_MS, LONGEST_PAUSE_MS] = [20, 100];

/** Turns of all replicas. Of one process one at a time asks the store. */
export function createSharedTurns({ placeTurns }: Models, clock: () => number): TakeTurn {
  const takeOwn = createOwnTurns();
  let indexing: Promise<void> | undefined;
  const prepare = () => {
    indexing ??= makeIndexes(placeTurns).catch((error: unknown) => {
      indexing = undefined;
      throw error;
    });
    return indexing;
  };
  return async (place, over, signal) => {
    const { promise: isFree, resolve: free } = Promise.withResolvers<void>();
    const held = { _id: createHash('sha256').update(place).digest('hex'), owner: randomUUID() };
    /** Where that fails it runs out by itself. */
    const giveBack = () => placeTurns.deleteOne(held).catch(() => undefined);
    try {
      await takeOwn(place, isFree, signal);
      await prepare();
      const untilFrom = (ms: number) => new Date(clock() + ms);
      const take = async (): Promise<boolean> => {
        // What has far more than a lease left was given before the clock was set back.
        const isOver = { $or: [{ until: { $lt: untilFrom(0) } }, { until: { $gt: untilFrom(2 * LEASE_MS) } }] };
        try {
          await placeTurns.updateOne(
            { _id: held._id, ...isOver },
            { $set: { owner: held.owner, until: untilFrom(LEASE_MS) } },
            { upsert: true },
          );
          return true;
        } catch (error) {
          if (isDuplicateKey(error)) return false;
          // It may be ours, and the answer was lost.
          void giveBack();
          throw error;
        }
      };
      while (!(await take())) {
        await wait(randomInt(SHORTEST_PAUSE_MS, LONGEST_PAUSE_MS));
        signal.throwIfAborted();
      }
      const renewing = setInterval(() => {
        placeTurns.updateOne(held, { $set: { until: untilFrom(LEASE_MS) } }).catch(() => undefined);
      }, LEASE_MS / 3);
      renewing.unref();
      void over
        .catch(() => undefined)
        .then(() => clearInterval(renewing))
        .then(giveBack)
        .finally(free);
    } catch (error) {
      free();
      throw error;
    }
  };
}
