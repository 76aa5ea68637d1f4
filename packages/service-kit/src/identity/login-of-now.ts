import { AppError } from '@wharf/errors';
import type { Call } from '../rpc/call.ts';
import type { AccountReads } from './callers.ts';

/** Asks again for the login that a call came with. @throws AppError UNAUTHENTICATED: it has ended; and what the store throws */
export type LoginOfNow = () => Promise<void>;

/**
 * For calls that wait for others, or take long, before they change something: whoever was logged out, disabled or given another password meanwhile changes
 * nothing more. Begun with the call; one of our own services has no login.
 */
export function createLoginsOfNow(
  reads: Pick<AccountReads, 'findSessionUser' | 'readPermanentToken'>,
): (call: Pick<Call, 'identity'>) => Promise<LoginOfNow> {
  return async ({ identity }) => {
    if (identity?.kind !== 'user') return async () => {};
    const { sessionId, username } = identity;
    const token = sessionId === '' ? await reads.readPermanentToken() : undefined;
    return async () => {
      const stands =
        sessionId === ''
          ? (await reads.readPermanentToken()) === token
          : (await reads.findSessionUser(sessionId))?.user?.username === username;
      if (!stands) throw new AppError('UNAUTHENTICATED', 'token is invalidated');
    };
  };
}
