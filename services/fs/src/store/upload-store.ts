import { type WriteSessionRecord, writeSessionModelOf } from '@wharf/models';
import type { StoreConnection } from '@wharf/service-kit';
import type { UploadSession, UploadStore } from '../domain/uploads/upload-session.ts';
import { toSession } from './write-session-store.ts';

/** The uploads among the write sessions. What is claimed and accepted lies in the row of its session, so that one step changes both. */
export function createUploadStore(connection: StoreConnection): UploadStore {
  const model = writeSessionModelOf(connection);
  const unfinished = (userId: number | undefined) => ({ upload_state: 'receiving', ...(userId !== undefined && { user_id: userId }) });
  const many = (records: WriteSessionRecord[]) => records.map(toUploadSession).filter((session) => session !== undefined);
  const claimPath = (key: string) => `upload.claims.${key}`;
  const change = async (filter: object, update: object) =>
    toUploadSession(await model.findOneAndUpdate(filter, update, { returnDocument: 'after' }).lean<WriteSessionRecord>());

  return {
    find: async (id) => toUploadSession(await model.findById(id).lean<WriteSessionRecord>()),
    async findSame(userId, path, size) {
      const found = model.find({ ...unfinished(userId), path, size }).sort({ _id: 1 });
      return many(await found.lean<WriteSessionRecord[]>()).toSorted((a, b) => b.upload.createdAt.getTime() - a.upload.createdAt.getTime());
    },
    async list(userId, { offset, limit }) {
      const found = model.find(unfinished(userId)).sort({ 'upload.created_at': 1, _id: 1 }).skip(offset).limit(limit);
      return many(await found.lean<WriteSessionRecord[]>());
    },
    count: (userId) => model.countDocuments(unfinished(userId)),
    async claim({ id, key, writer, until }, now, isDead) {
      const path = claimPath(key);
      const open = { _id: id, upload_state: 'receiving', [`upload.parts.${key}`]: { $exists: false } };
      const fresh = await change({ ...open, [path]: { $exists: false } }, { $set: { [path]: { writer, until } } });
      if (fresh) return { session: fresh, former: undefined };
      const record = await model.findById(id).lean<WriteSessionRecord>();
      if (!record?.upload || record.upload_state !== 'receiving') return 'gone';
      if (record.upload.parts?.[key] !== undefined) return 'accepted';
      const held = record.upload.claims?.[key];
      if (!held) return 'held';
      const isOver = !isDead(held.writer);
      if (isOver && held.until > now) return 'held';
      const taken = await change(
        { ...open, [`${path}.writer`]: held.writer, [`${path}.until`]: held.until },
        { $set: { [path]: { writer, until }, ...(isOver && { 'upload.is_taken_over': true }) } },
      );
      return taken ? { session: taken, former: held.writer } : 'held';
    },
    async renew({ id, key, writer, until }) {
      const path = claimPath(key);
      const { matchedCount } = await model.updateOne({ _id: id, [`${path}.writer`]: writer }, { $set: { [`${path}.until`]: until } });
      return matchedCount > 0;
    },
    async cut(id, chunkBytes) {
      await model.updateOne({ _id: id }, { $set: { 'upload.chunk_bytes': chunkBytes } });
    },
    async free({ id, key, writer }) {
      await model.updateOne({ _id: id, [`${claimPath(key)}.writer`]: writer }, { $unset: { [claimPath(key)]: '' } });
    },
    accept: ({ id, key, writer }, crc, expiresAt) =>
      change(
        { _id: id, [`${claimPath(key)}.writer`]: writer },
        { $set: { [`upload.parts.${key}`]: crc + 1, expires_at: expiresAt }, $unset: { [claimPath(key)]: '' } },
      ),
    advance: ({ id, writer }, offsetBytes, expiresAt) =>
      change(
        { _id: id, [`${claimPath('stream')}.writer`]: writer },
        { $set: { 'upload.offset_bytes': offsetBytes, expires_at: expiresAt } },
      ),
  };
}

function toUploadSession(record: WriteSessionRecord | null): UploadSession | undefined {
  if (!record) return undefined;
  const session = toSession(record);
  return session.upload && { ...session, upload: session.upload };
}
