import { AppError } from '@wharf/errors';
import type { Hashes } from '../../driver-contract/storage-driver.ts';
import type { UploadState, WriteSession } from '../writes/write-session.ts';

export type UploadSession = WriteSession & { readonly upload: UploadState };

/** No claim lasts so long, whatever the clocks of replicas differ by, in milliseconds. */
export const LONGEST_CLAIM_MS = 60_000;

/** One writer of one upload, as the store knows it. */
export interface UploadClaim {
  readonly id: string;
  /** The index of a part, `stream` or `complete`. */
  readonly key: string;
  readonly writer: string;
  readonly until: Date;
}

/** How the attempt to become the one writer ended. */
export type ClaimOutcome =
  /** @param session as it is now. @param former whose claim had run out */
  | { readonly session: UploadSession; readonly former: string | undefined }
  /** Another writer has it, at least until then unless it ends before. */
  | { readonly heldUntil: Date }
  | 'accepted'
  | 'gone';

/** Where uploads are kept. Each step is atomic, among all replicas. */
export interface UploadStore {
  find(id: string): Promise<UploadSession | undefined>;
  /** Unfinished ones of a user for one file, the newest first, and a few only. @param file.hashes those that have one of these; undefined: any */
  findSame(userId: number, file: { path: string; sizeBytes: number; hashes?: Hashes }): Promise<UploadSession[]>;
  /** Unfinished ones, the oldest first. @param userId undefined: of everybody */
  list(userId: number | undefined, page: { offset: number; limit: number }): Promise<UploadSession[]>;
  /** @param address of guests: those of this one alone */
  count(userId: number | undefined, address?: string): Promise<number>;
  /** The announced bytes of a user's unfinished ones whose parts wait in a spool. @param address of guests: those of this one alone */
  spooledBytes(userId: number, spoolId: string, address?: string): Promise<number>;
  /** Those who have unfinished ones. */
  userIds(): Promise<number[]>;
  /**
   * Takes a claim that is free or has run out; then the upload is noted as taken over.
   * @param known the upload as find() has answered it, which may be answered again where it has not changed since
   */
  claim(claim: UploadClaim, now: Date, known?: UploadSession): Promise<ClaimOutcome>;
  /** @returns false: somebody else has it, or it is over */
  renew(claim: UploadClaim): Promise<boolean>;
  /** The unfinished one of a key. @returns isBegun: false while whoever begins it is about to */
  findByKey(key: string): Promise<{ session: UploadSession; isBegun: boolean } | undefined>;
  /** Notes that an upload is ready for its parts, and their size. @returns undefined: it was ended meanwhile */
  begun(id: string, chunkBytes: number, expiresAt: Date): Promise<UploadSession | undefined>;
  free(claim: Pick<UploadClaim, 'id' | 'key' | 'writer'>): Promise<void>;
  /** Notes that a part is durable, and ends its claim. @returns undefined: the claim was lost */
  accept(claim: Pick<UploadClaim, 'id' | 'key' | 'writer'>, sum: number, expiresAt: Date): Promise<UploadSession | undefined>;
  /** Notes that a stream is durable up to an offset. @param isLast the claim ends with it. @returns undefined: the claim was lost */
  advance(
    claim: Pick<UploadClaim, 'id' | 'writer'>,
    offsetBytes: number,
    expiresAt: Date,
    isLast: boolean,
  ): Promise<UploadSession | undefined>;
}

/** Bytes of which a part is made. */
export interface PartRange {
  readonly offsetBytes: number;
  readonly lengthBytes: number;
}

/** At least as many bytes have all parts but the last. */
const MIN_CHUNK_BYTES = 1024 * 1024;
/** Parts of one upload. */
export const MAX_PARTS = 10_000;

/** @param wishedBytes of the client; 0: none. @param ceilingBytes only a file of more than MAX_PARTS such parts goes beyond it */
export function chunkSizeFor(sizeBytes: number, wishedBytes: number, ceilingBytes: number): number {
  const wanted = wishedBytes > 0 ? Math.min(wishedBytes, ceilingBytes) : ceilingBytes;
  const least = Math.ceil(sizeBytes / MAX_PARTS / MIN_CHUNK_BYTES) * MIN_CHUNK_BYTES;
  return Math.max(MIN_CHUNK_BYTES, Math.floor(wanted), least);
}

/** The nearest size not above `chunkBytes` that fits the grid of a storage, which takes other parts at a price; `chunkBytes` where the grid is coarser. */
export function onGrid(chunkBytes: number, gridBytes: number): number {
  return chunkBytes < gridBytes ? chunkBytes : chunkBytes - (chunkBytes % gridBytes);
}

export function partCount({ sizeBytes, upload }: UploadSession): number {
  return upload.kind === 'parts' ? Math.ceil(sizeBytes / upload.chunkBytes) : 0;
}

/** @throws AppError INVALID_ARGUMENT: there is no such part */
export function partRange(session: UploadSession, index: number): PartRange {
  const total = partCount(session);
  if (!Number.isSafeInteger(index) || index < 0 || index >= total)
    throw new AppError('INVALID_ARGUMENT', `X-Chunk-Index must be from 0 to ${total - 1}`);
  const { chunkBytes } = session.upload;
  const offsetBytes = index * chunkBytes;
  return { offsetBytes, lengthBytes: Math.min(chunkBytes, session.sizeBytes - offsetBytes) };
}

/** Whether every byte is durable. */
export function isComplete(session: UploadSession): boolean {
  const { kind, parts, offsetBytes } = session.upload;
  return kind === 'parts' ? parts.size === partCount(session) : offsetBytes === session.sizeBytes;
}

/** Bytes that are durable. */
export function receivedBytes(session: UploadSession): number {
  const { kind, parts, chunkBytes, offsetBytes } = session.upload;
  if (session.isPublished) return session.sizeBytes;
  if (kind === 'stream') return offsetBytes;
  const last = partCount(session) - 1;
  const missingOfLast = parts.has(last) ? chunkBytes * (last + 1) - session.sizeBytes : 0;
  return parts.size * chunkBytes - missingOfLast;
}

/** The sums of accepted parts, in order. */
export function receivedSums({ upload }: UploadSession): number[] {
  return [...upload.parts].toSorted(([a], [b]) => a - b).map(([, sum]) => sum);
}

/** Stretches of accepted parts, as first and last index, in order. */
export function receivedRanges(session: UploadSession): [number, number][] {
  const ranges: [number, number][] = [];
  for (const index of [...session.upload.parts.keys()].toSorted((a, b) => a - b)) {
    const last = ranges.at(-1);
    if (last && last[1] === index - 1) last[1] = index;
    else ranges.push([index, index]);
  }
  return ranges;
}
