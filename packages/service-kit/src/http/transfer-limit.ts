import type { ServerResponse } from 'node:http';
import { AppError } from '@wharf/errors';
import { awaitBody } from '@wharf/pace';
import { ROLE } from '@wharf/rights';
import type { UserIdentity } from '../identity/identity.ts';
import { maxConnectionsOfPort } from '../ops/http-listener.ts';
import type { Call } from '../rpc/call.ts';
import { onceClosed } from './once-closed.ts';
import { plainAddress } from './plain-address.ts';
import { sayWhenToComeAgain } from './retry-after.ts';

/**
 * Uploads and downloads that one process carries at a time. Each may hold some 128 KiB for as long as its client takes nothing: that many hold
 * 256 MiB.
 */
const MAX_TRANSFERS = 2_000;
/** And no more than this fraction of the connections of a port: the rest are for whoever asks for something. */
const PORT_SHARES = 2;
/** The share of one caller, as a fraction of that. Somebody who is logged in has two, as their downloads count for their address: others find the rest. */
const SHARES = 3;

/** Bounds how many transfers there are at a time. */
export interface TransferLimit {
  /**
   * Counts a transfer until its response has ended. No caller has more than a share: a user who is logged in, else an address. The body of a user is awaited.
   *
   * @throws AppError OVERLOADED: there are too many, or memory is short, and the answer says when to come again
   */
  begin(response: ServerResponse, who: Pick<Call, 'identity' | 'address'>): void;
}

/** @param max transfers at a time; left out: by the connections of a port. @param isShort tells whether memory is nearly used up: none begins then */
export function createTransferLimit(max = transfersOf(maxConnectionsOfPort()), isShort: () => boolean = () => false): TransferLimit {
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
      if (isShort() || open >= max || (openOf.get(caller) ?? 0) >= share) {
        const refusal = new AppError('OVERLOADED', 'too many uploads and downloads at once: try again in a moment');
        sayWhenToComeAgain(response, refusal);
        throw refusal;
      }
      count(caller, 1);
      if (isUser(who.identity)) awaitBody(response.req);
      onceClosed(response, () => count(caller, -1));
    },
  };
}

/** What a process carries whose ports take so many connections. @internal exported for its test */
export function transfersOf(connections: number): number {
  return Math.min(MAX_TRANSFERS, Math.floor(connections / PORT_SHARES));
}

/** Who has a share of what is bounded: a user, or an address. Guests are many, and the signature of a link does not tell who follows it. */
export function shareKeyOf({ identity, address = '' }: Pick<Call, 'identity' | 'address'>): string {
  return isUser(identity) ? `user ${identity.id}` : `address ${plainAddress(address)}`;
}

/** Whether it is somebody who is logged in. */
export function isUser(identity: Call['identity']): identity is UserIdentity {
  return identity?.kind === 'user' && identity.role !== ROLE.guest;
}
