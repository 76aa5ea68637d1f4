import type * as wire from '@wharf/proto/auth';
import { parsePermanentToken } from '../domain/permanent-token.ts';

/** @param writeToken answers the revision after it. */
export const setPermanentToken =
  (writeToken: (token: string) => Promise<number>) =>
  async ({ token }: wire.SetPermanentTokenRequest): Promise<wire.SetPermanentTokenResponse> => ({
    revision: await writeToken(parsePermanentToken(token)),
  });
