import { setImmediate } from 'node:timers/promises';

/**
 * Makes a function whose calls resolve one by one, each in another turn of the event loop: pieces of work that cannot be divided leave room
 * for others between any two, however many are sent at once.
 */
export function createTurns(): () => Promise<void> {
  let last: Promise<void> = Promise.resolve();
  return () => {
    last = last.then(() => setImmediate());
    return last;
  };
}
