import { type WriteSessionRecord, writeSessionModelOf } from '@wharf/models';
import { createUserTurns, lasts } from '@wharf/pace';
import type { StoreConnection } from '@wharf/service-kit';
import { LONGEST_CLAIM_MS, type UploadSession, type UploadStore } from '../domain/uploads/upload-session.ts';
import { toStoredSum } from './upload-record.ts';
import { toSession } from './write-session-store.ts';

/** Uploads of one file that are looked at: each may have a map of thousands of parts. */
const MAX_SAME = 4;

/** The uploads among the write sessions. What is claimed and accepted lies in the row of its session, so that one step changes both. */
export function createUploadStore(connection: StoreConnection): UploadStore {
  const model = writeSessionModelOf(connection);
  const unfinished = (userId: number | undefined, address?: string) => ({
    upload_state: { $in: ['beginning', 'receiving'] },
    ...(userId !== undefined && { user_id: userId }),
    ...(address !== undefined && { 'upload.address': address }),
  });
  const inTurn = createUserTurns();
  const many = (records: WriteSessionRecord[]) => records.map(toUploadSession).filter((session) => session !== undefined);
  const claimPath = (key: string) => `upload.claims.${key}`;
  const change = async (filter: object, update: object) =>
    toUploadSession(await model.findOneAndUpdate(filter, update, { returnDocument: 'after' }).lean<WriteSessionRecord>());

  return {
    find: async (id) => toUploadSession(await model.findById(id).lean<WriteSessionRecord>()),
    async findSame(userId, { path, sizeBytes, hashes }) {
      const alike = Object.entries(hashes ?? {}).map(([name, digest]) => ({ [`upload.hashes.${name}`]: digest }));
      if (hashes && alike.length === 0) return [];
      const same = { upload_state: 'receiving', user_id: userId, path, size: sizeBytes, ...(hashes && { $or: alike }) };
      const newest = () => model.find(same).sort({ 'upload.created_at': -1, _id: 1 }).limit(MAX_SAME).lean<WriteSessionRecord[]>().exec();
      return many(await inTurn(userId, newest));
    },
    async list(userId, { offset, limit }) {
      const oldest = () => model.find(unfinished(userId)).sort({ 'upload.created_at': 1, _id: 1 }).skip(offset).limit(limit);
      return many(await inTurn(userId, () => oldest().lean<WriteSessionRecord[]>().exec()));
    },
    count: (userId, address) => model.countDocuments(unfinished(userId, address)),
    async spooledBytes(userId, spoolId, address) {
      const summed = () =>
        model.aggregate<{ bytes: number }>([
          { $match: { ...unfinished(userId, address), 'upload.spool': spoolId } },
          { $group: { _id: null, bytes: { $sum: '$size' } } },
        ]);
      const [sum] = await inTurn(userId, () => summed().exec());
      return sum?.bytes ?? 0;
    },
    userIds: () => model.distinct('user_id', unfinished(undefined)),
    async claim({ id, key, writer, until }, now) {
      const path = claimPath(key);
      const open = { _id: id, upload_state: 'receiving', [`upload.parts.${key}`]: { $exists: false } };
      const fresh = await change({ ...open, [path]: { $exists: false } }, { $set: { [path]: { writer, until } } });
      if (fresh) return { session: fresh, former: undefined };
      const record = await model.findById(id).lean<WriteSessionRecord>();
      if (!record?.upload || record.upload_state !== 'receiving') return 'gone';
      if (record.upload.parts?.[key] !== undefined) return 'accepted';
      const held = record.upload.claims?.[key];
      // Ended in between: whoever asks again gets it.
      if (!held) return { heldUntil: now };
      if (lasts(held.until.getTime(), now.getTime(), LONGEST_CLAIM_MS)) return { heldUntil: held.until };
      const taken = await change(
        { ...open, [`${path}.writer`]: held.writer, [`${path}.until`]: held.until },
        { $set: { [path]: { writer, until }, 'upload.is_taken_over': true } },
      );
      return taken ? { session: taken, former: held.writer } : { heldUntil: until };
    },
    async renew({ id, key, writer, until }) {
      const path = claimPath(key);
      const { matchedCount } = await model.updateOne({ _id: id, [`${path}.writer`]: writer }, { $set: { [`${path}.until`]: until } });
      return matchedCount > 0;
    },
    async findByKey(key) {
      const record = await model.findOne({ upload_key: key }).lean<WriteSessionRecord>();
      const session = toUploadSession(record);
      return session && { session, isBegun: record?.upload_state === 'receiving' };
    },
    begun: (id, chunkBytes, expiresAt) =>
      change(
        { _id: id, upload_state: 'beginning' },
        { $set: { upload_state: 'receiving', 'upload.chunk_bytes': chunkBytes, expires_at: expiresAt } },
      ),
    async free({ id, key, writer }) {
      await model.updateOne({ _id: id, [`${claimPath(key)}.writer`]: writer }, { $unset: { [claimPath(key)]: '' } });
    },
    accept: ({ id, key, writer }, sum, expiresAt) =>
      change(
        { _id: id, [`${claimPath(key)}.writer`]: writer },
        { $set: { [`upload.parts.${key}`]: toStoredSum(sum), expires_at: expiresAt }, $unset: { [claimPath(key)]: '' } },
      ),
    advance: ({ id, writer }, offsetBytes, expiresAt, isLast) =>
      change(
        { _id: id, [`${claimPath('stream')}.writer`]: writer },
        {
          $set: { 'upload.offset_bytes': offsetBytes, expires_at: expiresAt },
          ...(isLast && { $unset: { [claimPath('stream')]: '' } }),
        },
      ),
  };
}

/** @returns undefined for a session that is no upload */
function toUploadSession(record: WriteSessionRecord | null): UploadSession | undefined {
  if (!record) return undefined;
  const session = toSession(record);
  return session.upload && { ...session, upload: session.upload };
}
