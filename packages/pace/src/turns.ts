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

/**
 * The same between owners, who have their turns by turns: whoever has a thousand to wait for waits behind these, and not the others.
 *
 * @param queue how many of one owner may wait, and what is said to the rest; without it any number waits
 * @returns waits for a turn, and throws AppError OVERLOADED where too many wait; `between` is how many turns are left to others after this one: in each of them Node takes one new connection
 */
export function createFairTurns(queue?: Queue): (owner: string, between: number) => Promise<void> {
  const inTurn = createFairPlaces(1, queue);
  return (owner, between) =>
    new Promise((resolve, reject) => {
      inTurn(owner, async () => {
        await setImmediate();
        resolve();
        for (let turn = 0; turn < between; turn += 1) await setImmediate();
      }).catch(reject);
    });
}
