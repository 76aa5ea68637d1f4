import type { UserRecord } from './collections/users.ts';
import type { Models } from './models.ts';
import { readPermanentToken, readSession, readUserByName, readUserByRole } from './reads.ts';

/** How exactly it is known when a session was last used, in milliseconds; coarse, so that not every request writes. */
const USE_KNOWN_WITHIN_MS = 10 * 60_000;

/**
 * The reads that service-kit's `createCallers` asks for, straight from the store: nothing is cached here.
 *
 * @param options.unseal opens a text that was sealed for the store (service-kit's `unseal` with `keys.atRest`).
 * @param options.clock milliseconds since 1970; a session whose `expires_at` has passed is none, reaped or not.
 * @param options.onUse is told of sessions whose last use that is known is some time ago; told again until it is noted.
 */
export function accountReads(
  models: Models,
  options: { unseal: (sealed: string) => string; clock: () => number; onUse?: (sessionId: string) => void },
) {
  return {
    async findSessionUser(sessionId: string) {
      const nowMs = options.clock();
      const session = await readSession(models, sessionId, new Date(nowMs));
      if (session && nowMs - (session.lastUsedAt?.getTime() ?? 0) >= USE_KNOWN_WITHIN_MS) options.onUse?.(sessionId);
      return session && { userId: session.userId, user: session.user && accountUser(session.user) };
    },
    async findUserByName(username: string) {
      const user = await readUserByName(models, username);
      return user && accountUser(user);
    },
    async findUserByRole(role: number) {
      const user = await readUserByRole(models, role);
      return user && accountUser(user);
    },
    async readPermanentToken(): Promise<string | undefined> {
      const sealed = await readPermanentToken(models);
      return sealed === undefined ? undefined : options.unseal(sealed);
    },
  };
}

/** A user as the checks of a caller need it: service-kit's `AccountUser`. */
function accountUser(record: UserRecord) {
  const { _id: id, username, role, permission, base_path, disabled, sso_id, allow_ldap, pwd_ts } = record;
  const quota_bytes = record.quota_bytes ?? 0;
  return { id, username, role, permission, base_path, disabled, sso_id, allow_ldap, pwd_ts, quota_bytes, otp: record.otp_secret !== '' };
}
