import { isDuplicateKey, type Models, type SshKeyRecord } from '@wharf/models';
import type { Slice } from '@wharf/pace';
import type { SshKey } from '../domain/ssh-keys.ts';

interface SshKeyStore {
  list(userId: number, slice: Slice): Promise<SshKey[]>;
  count(userId: number): Promise<number>;
  countBefore(id: number, userId: number): Promise<number>;
  hasTitle(userId: number, title: string): Promise<boolean>;
  /** False when the user has a key of this title. */
  insert(key: SshKey): Promise<boolean>;
  /** False when there is none. */
  remove(id: number, userId: number | undefined): Promise<boolean>;
  removeOfUser(userId: number): Promise<void>;
}

export function createSshKeyStore({ sshKeys }: Models): SshKeyStore {
  return {
    async list(userId, { skip, limit }) {
      const records = await sshKeys.find({ user_id: userId }).sort({ _id: 1 }).skip(skip).limit(limit).lean<SshKeyRecord[]>();
      return records.map(fromRecord);
    },
    count: (userId) => sshKeys.countDocuments({ user_id: userId }).exec(),
    countBefore: (id, userId) => sshKeys.countDocuments({ user_id: userId, _id: { $lt: id } }).exec(),
    hasTitle: async (userId, title) => (await sshKeys.findOne({ user_id: userId, title }).lean()) !== null,
    async insert(key) {
      try {
        await sshKeys.create({
          _id: key.id,
          user_id: key.userId,
          title: key.title,
          type: key.type,
          blob: key.blob,
          fingerprint: key.fingerprint,
          added_at: key.addedAt,
          last_used_at: key.lastUsedAt,
        });
        return true;
      } catch (error) {
        if (isDuplicateKey(error)) return false;
        throw error;
      }
    },
    async remove(id, userId) {
      const whose = userId === undefined ? {} : { user_id: userId };
      return (await sshKeys.deleteOne({ _id: id, ...whose })).deletedCount > 0;
    },
    async removeOfUser(userId) {
      await sshKeys.deleteMany({ user_id: userId });
    },
  };
}

function fromRecord(record: SshKeyRecord): SshKey {
  const { _id: id, user_id: userId, title, type, blob, fingerprint, added_at: addedAt, last_used_at: lastUsedAt } = record;
  return { id, userId, title, type, blob, fingerprint, addedAt, lastUsedAt };
}
