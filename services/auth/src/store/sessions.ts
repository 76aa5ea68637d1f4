import type { Models } from '@wharf/models';

/** A login that was not ended. */
interface Session {
  readonly id: string;
  readonly userId: number;
  readonly address: string;
  readonly createdAt: Date;
  readonly expiresAt: Date;
}

interface SessionStore {
  insert(session: Session): Promise<void>;
  /** No error when there is none. */
  remove(id: string): Promise<void>;
  removeOfUser(userId: number): Promise<void>;
}

export function createSessionStore({ sessions }: Models): SessionStore {
  return {
    async insert({ id, userId, address, createdAt, expiresAt }) {
      await sessions.create({ _id: id, user_id: userId, address, created_at: createdAt, expires_at: expiresAt });
    },
    async remove(id) {
      await sessions.deleteOne({ _id: id });
    },
    async removeOfUser(userId) {
      await sessions.deleteMany({ user_id: userId });
    },
  };
}
