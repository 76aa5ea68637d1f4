import type { Socket } from 'node:net';

/** How long an end whose other end has closed may take nothing of what was sent to it before, in milliseconds. */
const LINGER_MS = 5_000;

/**
 * Joins the ends of two connections of which one's bytes go to the other: when one closes, so does the other, once it has what was sent to it; one that breaks
 * off is broken off there too, so that nobody takes a part for all of it.
 */
export function closeTogether(one: Socket, other: Socket): void {
  for (const [gone, left] of [
    [one, other],
    [other, one],
  ] as const) {
    gone.once('close', () => {
      if (gone.errored) left.resetAndDestroy();
      else {
        left.setTimeout(LINGER_MS, () => left.destroy());
        left.destroySoon();
      }
    });
  }
}
