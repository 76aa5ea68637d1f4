import type * as wire from '@wharf/proto/auth';
import { makePermanentToken } from '../domain/permanent-token.ts';

/** @param writeToken answers the revision after it. */
export const resetPermanentToken =
  (writeToken: (token: string) => Promise<number>) =>
  async (_: wire.ResetPermanentTokenRequest): Promise<wire.ResetPermanentTokenResponse> => {
    const token = makePermanentToken();
    return { token, revision: await writeToken(token) };
  };
