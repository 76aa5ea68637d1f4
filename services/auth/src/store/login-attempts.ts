import { isDuplicateKey, type LoginAttemptRecord, type Models } from '@wharf/models';
import { type Attempts, LOCKOUT } from '../domain/lockout.ts';

interface LoginAttemptStore {
  find(key: string): Promise<Attempts | undefined>;
  /** Compare and set: false when the attempts are no longer those of `before`, and nothing was written. */
  replace(key: string, before: Attempts | undefined, after: Attempts): Promise<boolean>;
  /** Forgets the failures, but no lock. */
  clear(key: string): Promise<void>;
}

export function createLoginAttemptStore({ loginAttempts }: Models): LoginAttemptStore {
  return {
    async find(key) {
      const record = await loginAttempts.findById(key).lean<LoginAttemptRecord>();
      return record ? { failures: record.failures, expiresAt: record.expires_at } : undefined;
    },
    async replace(key, before, after) {
      const next = { failures: after.failures, expires_at: after.expiresAt };
      if (before) {
        const was = { _id: key, failures: before.failures, expires_at: before.expiresAt };
        return (await loginAttempts.findOneAndUpdate(was, { $set: next }).lean()) !== null;
      }
      try {
        await loginAttempts.create({ _id: key, ...next });
        return true;
      } catch (error) {
        if (isDuplicateKey(error)) return false;
        throw error;
      }
    },
    async clear(key) {
      await loginAttempts.deleteOne({ _id: key, failures: { $lt: LOCKOUT.failures } });
    },
  };
}
