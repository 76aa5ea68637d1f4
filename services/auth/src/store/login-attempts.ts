import { isDuplicateKey, type LoginAttemptRecord, type Models } from '@wharf/models';
import { isStoreFull } from '@wharf/service-kit';
import type { AttemptStore, Attempts } from '../domain/lockout.ts';

/** So many are forgotten at a time where there is no room for another one. */
const FORGOTTEN_AT_ONCE = 100;

/**
 * Attempts are counted in a store without room too, where those that would be forgotten first go before their time: else strangers with many
 * addresses would keep everybody from being counted, or from logging in. Wrong codes stay: they are no more than there are users.
 *
 * @param room how many there may be
 */
export function createLoginAttemptStore({ loginAttempts }: Models, room: () => Promise<number>): AttemptStore {
  const makeRoom = async () => {
    const soonest = loginAttempts.find({ _id: { $not: /^code / } }, { _id: 1 }).sort({ expires_at: 1 });
    const ids = (await soonest.limit(FORGOTTEN_AT_ONCE).lean<Pick<LoginAttemptRecord, '_id'>[]>()).map(({ _id }) => _id);
    await loginAttempts.deleteMany({ _id: { $in: ids } });
  };
  const insert = async (record: LoginAttemptRecord) => {
    if ((await loginAttempts.estimatedDocumentCount()) >= (await room())) await makeRoom();
    await loginAttempts.create(record).catch(async (error: unknown) => {
      if (!isStoreFull(error)) throw error;
      await makeRoom();
      await loginAttempts.create(record);
    });
  };
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
        await insert({ _id: key, ...next });
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
