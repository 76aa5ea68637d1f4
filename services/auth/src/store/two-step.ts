import type { Models, UserRecord } from '@wharf/models';
import type { TwoStepStore } from '../domain/two-step.ts';

/** Two-step secrets, in the records of their users: what belongs to one secret changes together with it. */
export function createTwoStepStore({ users }: Models): TwoStepStore {
  /** A write that answers the record it changed; null when the filter was true of none. */
  const happened = async (write: PromiseLike<unknown>) => (await write) !== null;
  return {
    async setPending(userId, sealed, until) {
      await users.updateOne({ _id: userId }, { $set: { otp_pending: sealed, otp_pending_until: until } });
    },
    async findPending(userId, now) {
      const record = await users.findOne({ _id: userId, otp_pending_until: { $gt: now } }).lean<UserRecord>();
      return record?.otp_pending ? record.otp_pending : undefined;
    },
    confirm: (userId, before, sealed, step) =>
      happened(
        users.findOneAndUpdate(
          { _id: userId, otp_secret: before, otp_pending: sealed },
          { $set: { otp_secret: sealed, otp_last_step: step, otp_recovery: [], otp_pending: '', otp_pending_until: null } },
        ),
      ),
    useStep: (userId, sealed, step) =>
      happened(
        users.findOneAndUpdate({ _id: userId, otp_secret: sealed, otp_last_step: { $lt: step } }, { $set: { otp_last_step: step } }),
      ),
    useRecovery: (userId, sealed, digest) =>
      happened(users.findOneAndUpdate({ _id: userId, otp_secret: sealed, otp_recovery: digest }, { $pull: { otp_recovery: digest } })),
    setRecovery: (userId, sealed, digests) =>
      happened(users.findOneAndUpdate({ _id: userId, otp_secret: sealed }, { $set: { otp_recovery: digests } })),
    async clear(userId) {
      const off = { otp_secret: '', otp_last_step: 0, otp_recovery: [], otp_pending: '', otp_pending_until: null };
      await users.updateOne({ _id: userId }, { $set: off });
    },
  };
}
