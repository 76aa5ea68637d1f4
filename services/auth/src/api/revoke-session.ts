import { AppError } from '@wharf/errors';
import type * as wire from '@wharf/proto/auth';
import { type Call, userOf } from '@wharf/service-kit';

export const revokeSession =
  (parts: { removeOwn(id: string, userId: number): Promise<boolean>; ended(sessionId: string): Promise<number> }) =>
  async ({ id }: wire.RevokeSessionRequest, call: Call): Promise<wire.RevokeSessionResponse> => {
    if (!(await parts.removeOwn(id, userOf(call).id))) throw new AppError('RECORD_NOT_FOUND', 'session not found');
    return { revision: await parts.ended(id) };
  };
