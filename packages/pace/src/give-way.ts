import { setImmediate } from 'node:timers';
import { SLICE_MS, takeTurn } from './pace.ts';

/** When this turn of the event loop has been long enough; undefined: nobody has asked in it. */
let turnEndsAt: number | undefined;

/**
 * Lets other work on the thread go on when whoever called this in the present turn of the event loop has been at it for a slice. For what long works of
 * others call again and again, and what may answer each time without waiting for anything: a storage that has no network and no disk.
 *
 * @returns undefined: there is no need to wait
 */
export function giveWay(): Promise<void> | undefined {
  const now = performance.now();
  if (turnEndsAt !== undefined) return now < turnEndsAt ? undefined : takeTurn();
  turnEndsAt = now + SLICE_MS;
  setImmediate(() => {
    turnEndsAt = undefined;
  });
  return undefined;
}
