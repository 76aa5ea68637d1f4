import { AppError } from '@wharf/errors';
import { ROLE } from '@wharf/rights';
import { type Caller, type OpenCalls, plainAddress } from '@wharf/service-kit';

/** Addresses whose calls without a login are counted: so many times what one address may have, all of them have together. */
const ADDRESSES = 4;
/** Of the places that all of them leave, an address has one in so many: alone it has all that one may have, and those who ask on and on come down to even shares. */
const SHARE = ADDRESSES - 1;

/**
 * Bounds how many calls of one caller are answered at a time. The calls of a gateway to another service share a connection that takes a
 * thousand: what one caller has is left out of reach of all others. Streams of events and bytes are no calls, and have bounds of their own.
 */
export interface CallLimit {
  /**
   * Runs a call, and counts it until it has settled, or `end` was called to end it before. Users are counted by themselves; guests by their address, and together; so are calls
   * that need nobody (a login), apart from guests. The fewer places are left for all of these, the fewer an address has.
   *
   * @param caller undefined: the call needs nobody. @throws AppError OVERLOADED, and what `run` throws
   */
  during<Result>(caller: Caller | undefined, address: string, run: () => Promise<Result>, end: () => void): Promise<Result>;
}

/** @param max calls of one caller at a time. @param openCalls is told of each */
export function createCallLimit(max: number, openCalls: OpenCalls): CallLimit {
  const open = new Map<string, number>();
  const count = (key: string, by: number) => {
    const value = (open.get(key) ?? 0) + by;
    if (value > 0) open.set(key, value);
    else open.delete(key);
  };
  return {
    async during(caller, address, run, end) {
      const bounds = boundsOf(caller, address, max);
      const [[own], all] = bounds;
      const isShare = all !== undefined && (open.get(own) ?? 0) >= Math.max(1, Math.floor((all[1] - (open.get(all[0]) ?? 0)) / SHARE));
      if (isShare || bounds.some(([key, most]) => (open.get(key) ?? 0) >= most))
        throw new AppError('OVERLOADED', 'too many of your requests are being answered at once: try again in a moment');
      let endedWith: AppError | undefined;
      const leave = openCalls.begin(bounds[0][0], (error) => {
        endedWith = error;
        end();
      });
      for (const [key] of bounds) count(key, 1);
      try {
        return await run();
      } catch (error) {
        throw endedWith ?? error;
      } finally {
        leave();
        for (const [key] of bounds) count(key, -1);
      }
    },
  };
}

type Bound = [key: string, most: number];

function boundsOf(caller: Caller | undefined, address: string, max: number): [Bound, ...Bound[]] {
  if (caller && caller.identity.role !== ROLE.guest) return [[`user ${caller.identity.id}`, max]];
  const who = caller ? 'guest' : 'anyone';
  return [
    [`${who} ${plainAddress(address)}`, max],
    [who, ADDRESSES * max],
  ];
}
