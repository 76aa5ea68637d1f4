import { AppError } from '@wharf/errors';
import { isDuplicateKey, makeIndexes, type ReplacedFileRecord, type WriteSessionRecord, writeSessionModelOf } from '@wharf/models';
import { parseVirtualPath } from '@wharf/paths';
import type { StoreConnection } from '@wharf/service-kit';
import type { ReplacedFile, WriteSession, WriteSessionStore } from '../domain/writes/write-session.ts';
import { createFinishedSessions, FINISHED, type MostFinished } from './finished-sessions.ts';
import { toUpload, toUploadRecord } from './upload-record.ts';

/** Sessions that one sweep takes away. */
const SWEEP_BATCH = 100;

export function createWriteSessionStore(connection: StoreConnection, mostFinished?: MostFinished): WriteSessionStore {
  const model = writeSessionModelOf(connection);
  const finished = createFinishedSessions(model, mostFinished);
  return {
    async init() {
      await makeIndexes(model);
    },
    async insert(session) {
      try {
        await model.create(toRecord(session));
      } catch (error) {
        throw isDuplicateKey(error) ? new AppError('RECORD_EXISTS', 'there is a write session of this id') : error;
      }
    },
    async find(id) {
      const record = await model.findById(id).lean<WriteSessionRecord>();
      return record ? toSession(record) : undefined;
    },
    async touch(id, expiresAt) {
      await model.updateOne({ _id: id }, { $set: { expires_at: expiresAt } });
    },
    async beginPublishing(id, path, replaced) {
      const noted = replaced ? { $set: { replaced: toReplacedRecord(replaced) } } : { $unset: { replaced: '' } };
      await model.updateOne({ _id: id }, { ...noted, $set: { publishing_path: path, ...noted.$set } });
    },
    async markPublished({ id, userId }, size, expiresAt) {
      const finishedNow = { is_published: true, size, expires_at: expiresAt, upload_state: FINISHED };
      await model.updateOne({ _id: id }, { $set: finishedNow, $unset: { upload_key: '' } });
      // The file has its name, whatever becomes of this.
      await finished.note(userId).catch(() => undefined);
    },
    async remove(id) {
      await model.deleteOne({ _id: id });
    },
    async findExpired(now) {
      const records = await model
        .find({ expires_at: { $lte: now } })
        .limit(SWEEP_BATCH)
        .lean<WriteSessionRecord[]>();
      return records.map(toSession);
    },
    async findAhead(latest) {
      const records = await model
        .find({ expires_at: { $gt: latest } }, { _id: 1 })
        .limit(SWEEP_BATCH)
        .lean<Pick<WriteSessionRecord, '_id'>[]>();
      return records.map(({ _id }) => _id);
    },
  };
}

function toRecord(session: WriteSession): WriteSessionRecord {
  const { id, userId, path, storageId, hasDraft, publishingPath, isPublished, sizeBytes, dataUrl, expiresAt, upload } = session;
  return {
    _id: id,
    user_id: userId,
    path,
    storage_id: storageId,
    has_draft: hasDraft,
    publishing_path: publishingPath ?? '',
    is_published: isPublished,
    size: sizeBytes,
    data_url: dataUrl,
    expires_at: expiresAt,
    ...(upload && { upload: toUploadRecord(upload), upload_state: 'beginning' }),
    ...(upload?.key !== undefined && { upload_key: upload.key }),
  };
}

export function toSession(record: WriteSessionRecord): WriteSession {
  return {
    id: record._id,
    userId: record.user_id,
    path: parseVirtualPath(record.path),
    storageId: record.storage_id,
    hasDraft: record.has_draft,
    publishingPath: record.publishing_path === '' ? undefined : parseVirtualPath(record.publishing_path),
    ...(record.replaced && { replaced: toReplaced(record.replaced) }),
    isPublished: record.is_published,
    sizeBytes: record.size,
    dataUrl: record.data_url,
    expiresAt: record.expires_at,
    isOfBackup: record.of_backup,
    upload: record.upload && toUpload(record.upload),
  };
}

function toReplacedRecord({ sizeBytes, modifiedAt, createdAt, version }: ReplacedFile): ReplacedFileRecord {
  return {
    ...(sizeBytes !== undefined && { size: sizeBytes }),
    modified_at: modifiedAt,
    ...(createdAt !== undefined && { made_at: createdAt }),
    ...(version !== undefined && { version }),
  };
}

function toReplaced({ size, modified_at, made_at, version }: ReplacedFileRecord): ReplacedFile {
  return { sizeBytes: size, modifiedAt: modified_at, ...(made_at && { createdAt: made_at }), ...(version !== undefined && { version }) };
}
