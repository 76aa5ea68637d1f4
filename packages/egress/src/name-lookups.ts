import { createFairPlaces } from '@wharf/pace';

/** Every address of a name. */
export type LookUp = (host: string) => Promise<readonly string[]>;

/**
 * Names that are looked up at a time for those who may name any. The system looks eight up at a time where the process has its 16 threads (libuv: half of
 * them), in the order in which they are asked for, and one whose server is silent takes ten seconds and more: the rest is for names from the admin.
 */
const PLACES = 4;
/** Of one owner: who gives a request up leaves its name in the queue, as a look-up cannot be taken back. */
const MAX_WAITING = 256;

/**
 * Shares the places for look-ups between owners, who have them in turns.
 *
 * @returns the look-up, which throws AppError OVERLOADED where too many names of this owner wait, and what `lookUp` throws
 */
export function createFairLookups(lookUp: LookUp, places = PLACES): (owner: string, host: string) => Promise<readonly string[]> {
  const inTurn = createFairPlaces(places, { max: MAX_WAITING, refusal: 'too many names are being looked up, try again in a moment' });
  return (owner, host) => inTurn(owner, () => lookUp(host));
}
