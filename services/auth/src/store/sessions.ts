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
}

/** Older ones are shown when newer ones have ended. */
const MAX_LISTED = 1_000;

export function createSessionStore({ sessions }: Models): SessionStore {
  return {
    async insert({ id, userId, address, createdAt, expiresAt }) {
      await sessions.create({ _id: id, user_id: userId, address, created_at: createdAt, expires_at: expiresAt });
    },
    async list(userId, now) {
      const newest = sessions.find({ user_id: userId, expires_at: { $gt: now } }).sort({ created_at: -1, _id: 1 });
      const records = await newest.limit(MAX_LISTED).lean<SessionRecord[]>();
      return records.map(({ _id: id, address, created_at: createdAt, expires_at: expiresAt }) => ({
        id,
        userId,
        address,
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
  };
}
