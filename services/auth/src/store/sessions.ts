import type { Models, SessionRecord } from '@wharf/models';
import type { Session } from '../domain/session.ts';

interface SessionStore {
  insert(session: Session): Promise<void>;
  /** Those of a user that have not expired, the newest first. */
  list(userId: number, now: Date): Promise<Session[]>;
  /** No error when there is none. */
  remove(id: string): Promise<void>;
  /** False when the user has no such session. */
  removeOwn(id: string, userId: number): Promise<boolean>;
  removeOfUser(userId: number): Promise<void>;
  noteUse(id: string, at: Date): Promise<void>;
  /** Removes those of a user beyond what one may have now that were used least recently; false: there were none. */
  removeSurplus(userId: number): Promise<boolean>;
}

/** Of one user. */
const MAX_SESSIONS = 1_000;
/** Of one user who logs in where those of all users are more than the store has room for: nobody keeps others from logging in. */
const MAX_OF_MANY = 20;

/** @param roomForAll how many there may be before each user has few */
export function createSessionStore({ sessions }: Models, roomForAll: () => Promise<number>): SessionStore {
  return {
    async insert({ id, userId, address, device, createdAt, expiresAt }) {
      const times = { created_at: createdAt, last_used_at: createdAt, expires_at: expiresAt };
      await sessions.create({ _id: id, user_id: userId, address, device, ...times });
    },
    async list(userId, now) {
      const newest = sessions.find({ user_id: userId, expires_at: { $gt: now } }).sort({ created_at: -1, _id: 1 });
      const records = await newest.limit(MAX_SESSIONS).lean<SessionRecord[]>();
      return records.map(({ _id: id, address, device = '', created_at: createdAt, expires_at: expiresAt }) => ({
        id,
        userId,
        address,
        device,
        createdAt,
        expiresAt,
      }));
    },
    async remove(id) {
      await sessions.deleteOne({ _id: id });
    },
    async removeOwn(id, userId) {
      return (await sessions.deleteOne({ _id: id, user_id: userId })).deletedCount > 0;
    },
    async removeOfUser(userId) {
      await sessions.deleteMany({ user_id: userId });
    },
    async noteUse(id, at) {
      await sessions.updateOne({ _id: id }, { $max: { last_used_at: at } });
    },
    async removeSurplus(userId) {
      const isTight = (await sessions.estimatedDocumentCount()) > (await roomForAll());
      // All logins at once agree on the order, so that together they remove no more than one after the other would.
      const byUse = sessions.find({ user_id: userId }, { _id: 1 }).sort({ last_used_at: -1, _id: 1 });
      const surplus = await byUse.skip(isTight ? MAX_OF_MANY : MAX_SESSIONS).lean<Pick<SessionRecord, '_id'>[]>();
      if (surplus.length > 0) await sessions.deleteMany({ _id: { $in: surplus.map(({ _id }) => _id) } });
      return surplus.length > 0;
    },
  };
}
