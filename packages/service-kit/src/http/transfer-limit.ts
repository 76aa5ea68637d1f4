import type { ServerResponse } from 'node:http';
import { AppError } from '@wharf/errors';
import { ROLE } from '@wharf/rights';
import type { Call } from '../rpc/call.ts';
import { onceClosed } from './once-closed.ts';
import { plainAddress } from './plain-address.ts';
import { sayWhenToComeAgain } from './retry-after.ts';

/**
 * Uploads and downloads that one process carries at a time. Each may hold some 128 KiB for as long as its client takes nothing: that many hold
 * 256 MiB.
 */
const MAX_TRANSFERS = 2_000;
/** The share of one caller, as a fraction of that. */
const SHARES = 2;

/** Bounds how many transfers there are at a time. */
export interface TransferLimit {
  /**
   * Counts a transfer until its response has ended. No caller has more than a share: a user who is logged in, else an address.
   *
   * @throws AppError OVERLOADED: there are too many, and the answer says when to come again
   */
  begin(response: ServerResponse, who: Pick<Call, 'identity' | 'address'>): void;
}

export function createTransferLimit(max = MAX_TRANSFERS): TransferLimit {
  const share = Math.ceil(max / SHARES);
  const openOf = new Map<string, number>();
  let open = 0;
  const count = (caller: string, by: number) => {
    const own = (openOf.get(caller) ?? 0) + by;
    open += by;
    if (own > 0) openOf.set(caller, own);
    else openOf.delete(caller);
  };
  return {
    begin(response, who) {
      const caller = shareKeyOf(who);
      if (open >= max || (openOf.get(caller) ?? 0) >= share) {
        const refusal = new AppError('OVERLOADED', 'too many uploads and downloads at once: try again in a moment');
        sayWhenToComeAgain(response, refusal);
        throw refusal;
      }
      count(caller, 1);
      onceClosed(response, () => count(caller, -1));
    },
  };
}

/** Who has a share of what is bounded: a user, or an address. Guests are many, and the signature of a link does not tell who follows it. */
export function shareKeyOf({ identity, address = '' }: Pick<Call, 'identity' | 'address'>): string {
  return identity?.kind === 'user' && identity.role !== ROLE.guest ? `user ${identity.id}` : `address ${plainAddress(address)}`;
}
