import { setTimeout as wait } from 'node:timers/promises';

/** Of what users have several of. */
interface Counted {
  count(userId: number): Promise<number>;
  /** With lower ids. */
  countBefore(id: number, userId: number): Promise<number>;
}

/** How often, and how far apart, it is looked whether newer ones have gone: theirs is a removal each, in whichever process. */
const LOOKS = 50;
const LOOK_MS = 20;

/**
 * Whether one that was just stored may stay, where others may have come at the same time: all of them agree that the newest beyond the limit go.
 *
 * One that stays has seen no more than `most`, itself among them. So one whose id is older, but which came after a newer one had stayed, goes too.
 */
export async function staysWithin(most: number, { id, userId }: { id: number; userId: number }, store: Counted): Promise<boolean> {
  for (let look = 1; look <= LOOKS; look += 1) {
    if ((await store.count(userId)) <= most) return true;
    if ((await store.countBefore(id, userId)) >= most) return false;
    await wait(LOOK_MS);
  }
  return false;
}
