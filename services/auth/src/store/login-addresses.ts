import { isDuplicateKey, type LoginAddressRecord, type Models } from '@wharf/models';

interface LoginAddressStore {
  has(userId: number, address: string): Promise<boolean>;
  /** Remembers an address as the one of the last login; of too many the oldest is forgotten. */
  remember(userId: number, address: string, now: Date): Promise<void>;
  removeOfUser(userId: number): Promise<void>;
}

/** As many as somebody who moves about a lot needs. */
const MAX_ADDRESSES = 50;

export function createLoginAddressStore({ loginAddresses }: Models): LoginAddressStore {
  const idOf = (userId: number, address: string) => `${userId} ${address}`;
  return {
    has: async (userId, address) => (await loginAddresses.findById(idOf(userId, address)).lean()) !== null,
    async remember(userId, address, now) {
      const write = () =>
        loginAddresses.updateOne({ _id: idOf(userId, address) }, { $set: { user_id: userId, last_login_at: now } }, { upsert: true });
      // Of two first upserts of one id the second finds the record when it tries again.
      const { upsertedCount } = await write().catch((error) => (isDuplicateKey(error) ? write() : Promise.reject(error)));
      if (upsertedCount === 0) return;
      const newest = loginAddresses.find({ user_id: userId }).sort({ last_login_at: -1, _id: 1 });
      const surplus = await newest.skip(MAX_ADDRESSES).limit(MAX_ADDRESSES).lean<LoginAddressRecord[]>();
      if (surplus.length > 0) await loginAddresses.deleteMany({ _id: { $in: surplus.map(({ _id }) => _id) } });
    },
    async removeOfUser(userId) {
      await loginAddresses.deleteMany({ user_id: userId });
    },
  };
}
