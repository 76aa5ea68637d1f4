import type { AppPasswordRecord, Models } from '@wharf/models';
import type { Slice } from '@wharf/pace';
import type { AppPassword } from '../domain/app-passwords.ts';

interface AppPasswordStore {
  /** By id. */
  list(userId: number, slice: Slice): Promise<AppPassword[]>;
  count(userId: number): Promise<number>;
  countBefore(id: number, userId: number): Promise<number>;
  /** One that has not expired. */
  find(userId: number, digest: string, now: Date): Promise<AppPassword | undefined>;
  insert(appPassword: AppPassword): Promise<void>;
  /** False when the user has none of this id. */
  remove(id: number, userId: number): Promise<boolean>;
  setLastUsed(id: number, at: Date): Promise<void>;
  removeOfUser(userId: number): Promise<void>;
}

export function createAppPasswordStore({ appPasswords }: Models): AppPasswordStore {
  return {
    async list(userId, { skip, limit }) {
      const records = await appPasswords.find({ user_id: userId }).sort({ _id: 1 }).skip(skip).limit(limit).lean<AppPasswordRecord[]>();
      return records.map(fromRecord);
    },
    count: (userId) => appPasswords.countDocuments({ user_id: userId }).exec(),
    countBefore: (id, userId) => appPasswords.countDocuments({ user_id: userId, _id: { $lt: id } }).exec(),
    async find(userId, digest, now) {
      const record = await appPasswords.findOne({ user_id: userId, digest }).lean<AppPasswordRecord>();
      if (!record || (record.expires_at !== null && record.expires_at <= now)) return undefined;
      return fromRecord(record);
    },
    async insert(appPassword) {
      await appPasswords.create({
        _id: appPassword.id,
        user_id: appPassword.userId,
        name: appPassword.name,
        digest: appPassword.digest,
        protocols: [...appPassword.protocols],
        read_only: appPassword.readOnly,
        path: appPassword.path,
        created_at: appPassword.createdAt,
        expires_at: appPassword.expiresAt,
        last_used_at: appPassword.lastUsedAt,
      });
    },
    remove: async (id, userId) => (await appPasswords.deleteOne({ _id: id, user_id: userId })).deletedCount > 0,
    async setLastUsed(id, at) {
      await appPasswords.updateOne({ _id: id }, { $set: { last_used_at: at } });
    },
    async removeOfUser(userId) {
      await appPasswords.deleteMany({ user_id: userId });
    },
  };
}

function fromRecord(record: AppPasswordRecord): AppPassword {
  const { _id: id, user_id: userId, name, digest, protocols, path } = record;
  const { read_only: readOnly, created_at: createdAt, expires_at: expiresAt, last_used_at: lastUsedAt } = record;
  return { id, userId, name, digest, protocols, readOnly, path, createdAt, expiresAt, lastUsedAt };
}
