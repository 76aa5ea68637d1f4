import type { UploadRecord } from '@wharf/models';
import type { UploadState } from '../domain/writes/write-session.ts';

/** The sum of a part is stored plus this, so that no accepted part has 0. */
const OVER_SUM = 1;

export const toStoredSum = (sum: number): number => sum + OVER_SUM;

export function toUploadRecord(upload: UploadState): UploadRecord {
  return {
    kind: upload.kind,
    chunk_bytes: upload.chunkBytes,
    overwrite: upload.overwrite,
    ...(upload.modifiedAt && { modified_ms: upload.modifiedAt.getTime() }),
    hashes: { ...upload.hashes },
    parts: Object.fromEntries([...upload.parts].map(([index, sum]) => [index, toStoredSum(sum)])),
    offset_bytes: upload.offsetBytes,
    claims: {},
    is_taken_over: upload.isTakenOver,
    is_partial: upload.isPartial,
    metadata: upload.metadata,
    user_name: upload.userName,
    ...(upload.address !== undefined && { address: upload.address }),
    ...(upload.spool !== undefined && { spool: upload.spool }),
    created_at: upload.createdAt,
  };
}

export function toUpload(record: UploadRecord): UploadState {
  return {
    kind: record.kind,
    chunkBytes: record.chunk_bytes,
    overwrite: record.overwrite,
    modifiedAt: record.modified_ms === undefined ? undefined : new Date(record.modified_ms),
    hashes: record.hashes ?? {},
    parts: new Map(Object.entries(record.parts ?? {}).map(([index, sum]) => [Number(index), sum - OVER_SUM])),
    offsetBytes: record.offset_bytes,
    isTakenOver: record.is_taken_over,
    isPartial: record.is_partial,
    metadata: record.metadata,
    userName: record.user_name,
    address: record.address,
    spool: record.spool,
    createdAt: record.created_at,
  };
}
