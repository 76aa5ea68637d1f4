import { isDuplicateKey, type LoginAttemptRecord, type Models } from '@wharf/models';
import type { AttemptStore, Attempts } from '../domain/lockout.ts';

export function createLoginAttemptStore({ loginAttempts }: Models): AttemptStore {
  return {
    async find(key) {
      return attemptsOf(await loginAttempts.findById(key).lean<LoginAttemptRecord>());
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
    async clear(key, failures) {
      return attemptsOf(await loginAttempts.findOneAndDelete({ _id: key, failures: { $lt: failures } }).lean<LoginAttemptRecord>());
    },
  };
}

const attemptsOf = (record: LoginAttemptRecord | null): Attempts | undefined =>
  record ? { failures: record.failures, expiresAt: record.expires_at } : undefined;
