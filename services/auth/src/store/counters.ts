import { type CounterRecord, isDuplicateKey, type Models, REVISION, readAuthRevision } from '@wharf/models';

/** Numbers that only rise, shared by all replicas. */
interface Counters {
  /** An id that no user has had. */
  nextUserId(): Promise<number>;
  /** An id that no SSH key has had. */
  nextSshKeyId(): Promise<number>;
  /** An id that no app password has had. */
  nextAppPasswordId(): Promise<number>;
  /** Makes sure that ids up to this one are not given out. */
  reserveUserIds(upTo: number): Promise<void>;
  /** Raises the revision of the accounts, after a change was written. */
  nextRevision(): Promise<number>;
  revision(): Promise<number>;
}

const USERS = 'users';
const SSH_KEYS = 'ssh_keys';
const APP_PASSWORDS = 'app_passwords';

export function createCounters(models: Models): Counters {
  const { authCounters } = models;
  const next = async (id: string): Promise<number> => {
    const raise = () =>
      authCounters.findOneAndUpdate({ _id: id }, { $inc: { value: 1 } }, { upsert: true, returnDocument: 'after' }).lean<CounterRecord>();
    // Two first upserts of one id may both try to insert; the second then finds the record.
    const record = await raise().catch((error) => (isDuplicateKey(error) ? raise() : Promise.reject(error)));
    if (!record) throw new Error(`the counter ${id} vanished`);
    return record.value;
  };
  return {
    nextUserId: () => next(USERS),
    nextSshKeyId: () => next(SSH_KEYS),
    nextAppPasswordId: () => next(APP_PASSWORDS),
    async reserveUserIds(upTo) {
      const reserve = () => authCounters.updateOne({ _id: USERS }, { $max: { value: upTo } }, { upsert: true });
      await reserve().catch((error) => (isDuplicateKey(error) ? reserve() : Promise.reject(error)));
    },
    nextRevision: () => next(REVISION),
    revision: () => readAuthRevision(models),
  };
}
