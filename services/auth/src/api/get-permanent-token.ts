import { AppError } from '@wharf/errors';
import type * as wire from '@wharf/proto/auth';

export const getPermanentToken =
  (readToken: () => Promise<string | undefined>) =>
  async (_: wire.GetPermanentTokenRequest): Promise<wire.GetPermanentTokenResponse> => {
    const token = await readToken();
    if (token === undefined) throw new AppError('RECORD_NOT_FOUND', 'there is no permanent token');
    return { token };
  };
