import { setTimeout as delay } from 'node:timers/promises';

export interface WaitOptions {
  /** Default 10,000. */
  withinMs?: number;
  /** Pause between two tries, default 20. */
  everyMs?: number;
}

/**
 * Asks again and again until the condition answers something other than `undefined`, `null` or `false`, and returns that.
 *
 * A condition that throws counts as "not yet"; its last error is the cause of the failure. One try is always made, and never two at once.
 *
 * @param what ends the sentence "waited in vain for ...".
 */
export async function waitFor<T>(
  what: string,
  condition: () => T | undefined | null | false | Promise<T | undefined | null | false>,
  { withinMs = 10_000, everyMs = 20 }: WaitOptions = {},
): Promise<T> {
  const deadline = performance.now() + withinMs;
  for (;;) {
    let cause: unknown;
    try {
      const answer = await condition();
      if (answer !== undefined && answer !== null && answer !== false) return answer;
    } catch (error) {
      cause = error;
    }
    if (performance.now() >= deadline) throw new Error(`waited ${withinMs} ms in vain for ${what}`, { cause });
    await delay(everyMs);
  }
}
