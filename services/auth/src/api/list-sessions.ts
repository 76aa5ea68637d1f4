import type * as wire from '@wharf/proto/auth';
import { type Call, userOf } from '@wharf/service-kit';
import type { Session } from '../domain/session.ts';

/** The permanent token is no session; its bearer sees those of the admin. */
export const listSessions =
  (list: (userId: number) => Promise<Session[]>) =>
  async (_: wire.ListSessionsRequest, call: Call): Promise<wire.ListSessionsResponse> => {
    const { id: userId, sessionId } = userOf(call);
    const sessions = await list(userId);
    const content = sessions.map(({ id, address, device, createdAt, expiresAt }) => ({
      id,
      address,
      device,
      created_time: createdAt.toISOString(),
      expires_time: expiresAt.toISOString(),
      current: id === sessionId,
    }));
    return { content };
  };
