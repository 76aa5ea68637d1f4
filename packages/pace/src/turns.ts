import { setImmediate } from 'node:timers/promises';
import { createFairPlaces } from './fair-places.ts';
import type { Queue } from './gate.ts';

/**
 * Makes a function whose calls resolve one by one, each in another turn of the event loop. It separates pieces of work that cannot be
 * divided: between any two of them other work gets its turn.
 */
export function createTurns(): () => Promise<void> {
  let last: Promise<void> = Promise.resolve();
  return () => {
    last = last.then(() => setImmediate());
    return last;
  };
}

/** Turns between two that are taken: what is done in them is long, and in each turn of the event loop Node takes one new connection. */
const BETWEEN = 16;

/**
 * The same between owners, who have their turns by turns: whoever has a thousand to wait for waits behind these, and not the others.
 *
 * @param queue how many of one owner may wait, and what is said to the rest, by OVERLOADED; without it any number waits
 */
export function createFairTurns(queue?: Queue): (owner: string) => Promise<void> {
  const inTurn = createFairPlaces(1, queue);
  return (owner) =>
    new Promise((resolve, reject) => {
      const turn = inTurn(owner, async () => {
        await setImmediate();
        resolve();
        for (let turn = 0; turn < BETWEEN; turn += 1) await setImmediate();
      });
      turn.catch(reject);
    });
}
