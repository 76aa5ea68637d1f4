import { setImmediate } from 'node:timers/promises';

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
