import type * as wire from '@wharf/proto/auth';
import { type Call, userOf } from '@wharf/service-kit';

/** The guest and the permanent token have no session: nothing changes for them. */
export const logout =
  (parts: { endSession(id: string): Promise<void>; ended(sessionId: string): Promise<number>; revision(): Promise<number> }) =>
  async (_: wire.LogoutRequest, call: Call): Promise<wire.LogoutResponse> => {
    const { sessionId } = userOf(call);
    if (sessionId === '') return { revision: await parts.revision() };
    await parts.endSession(sessionId);
    return { revision: await parts.ended(sessionId) };
  };
