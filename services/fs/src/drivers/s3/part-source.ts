import { createHash, type Hash, hash } from 'node:crypto';
import { AppError } from '@wharf/errors';
import { type PartBuffer, takePartBuffer } from '../../driver-contract/part-buffers.ts';
import { MAX_PARTS, type Payload } from './client.ts';

const MIB = 1024 * 1024;
/** What a part has at least, but the last one: 5 MiB is the least that stores take, and fewer calls are quicker. */
const LEAST_PART_BYTES = 8 * MIB;
/** A part of up to so many bytes is digested at once when it is there. To begin a digest, which goes along with longer ones, costs more than that. */
const SMALL_BYTES = 256 * 1024;
/** Half of what all uploads have together. */
const MOST_PART_BYTES = 32 * MIB;

/** Digests that go along with a part. */
export interface PartHashes {
  readonly sha256: boolean;
  readonly md5: boolean;
}

/** Content cut into parts, each of them in memory that is given back when it is stored. */
export interface Part extends Payload, Pick<PartBuffer, 'release'> {
  /** Nothing comes after it. */
  readonly isLast: boolean;
}

export interface PartSource {
  /** @throws AppError QUOTA_EXCEEDED (more parts than a file may have); what the content throws */
  next(signal: AbortSignal): Promise<Part>;
  /** Ends the content. */
  end(): Promise<void>;
}

export interface PartOptions {
  /** Of the whole content; undefined where nobody knows. */
  readonly sizeBytes: number | undefined;
  /** Of the part behind so many others, where it is not the last. */
  readonly partBytes: (count: number) => number;
  /** Who holds the memory of its parts. */
  readonly caller?: string | undefined;
  /** Told from time to time while others have all memory there is: that is not the storage's fault. */
  readonly onProgress?: (() => void) | undefined;
  readonly hashes: PartHashes;
}

/** @param content ends well only when it is what was promised; its pieces are only lent */
export function cutIntoParts(
  content: AsyncGenerator<Uint8Array, void>,
  { sizeBytes, partBytes, caller, onProgress, hashes }: PartOptions,
): PartSource {
  let count = 0;
  let takenBytes = 0;
  /** Of the piece that is lent, what is in no part yet. */
  let rest: Uint8Array | undefined;
  let isEnded = false;
  const pull = async () => {
    const step = await content.next();
    isEnded = step.done === true;
    rest = step.done === true ? undefined : step.value;
  };
  return {
    async next(signal) {
      if (count === MAX_PARTS) throw tooLarge();
      const wantedBytes = partBytes(count);
      count += 1;
      const neededBytes = Math.min(wantedBytes, Math.max(1, (sizeBytes ?? wantedBytes + takenBytes) - takenBytes));
      const buffer = await waiting(takePartBuffer(neededBytes, { signal, caller }), onProgress);
      const { memory } = buffer;
      try {
        const digests =
          neededBytes > SMALL_BYTES ? { sha256: startHash(hashes.sha256, 'sha256'), md5: startHash(hashes.md5, 'md5') } : undefined;
        let filled = 0;
        for (;;) {
          if (rest === undefined && !isEnded) await pull();
          if (rest === undefined || filled === memory.byteLength) break;
          const bytes = rest.subarray(0, memory.byteLength - filled);
          memory.set(bytes, filled);
          digests?.sha256?.update(bytes);
          digests?.md5?.update(bytes);
          filled += bytes.byteLength;
          rest = bytes.byteLength === rest.byteLength ? undefined : rest.subarray(bytes.byteLength);
        }
        takenBytes += filled;
        const bytes = memory.subarray(0, filled);
        return {
          ...(digests
            ? { bytes, sha256: digests.sha256?.digest('hex'), md5: digests.md5?.digest('base64') }
            : payloadOfPart(bytes, hashes)),
          isLast: rest === undefined,
          release: buffer.release,
        };
      } catch (error) {
        buffer.release();
        throw error;
      }
    },
    end: async () => void (await content.return()),
  };
}

/** How often who waits for memory says so, in milliseconds. */
const WAITING_MS = 10_000;

export async function waiting<Result>(turn: Promise<Result>, onProgress: (() => void) | undefined): Promise<Result> {
  const timer = onProgress && setInterval(onProgress, WAITING_MS);
  try {
    return await turn;
  } finally {
    clearInterval(timer);
  }
}

/** The same for all parts of a file of this size. @throws AppError QUOTA_EXCEEDED */
export function partBytesOf(sizeBytes: number): number {
  const needed = Math.ceil(sizeBytes / MAX_PARTS / MIB) * MIB;
  if (needed > MOST_PART_BYTES) throw tooLarge();
  return Math.max(LEAST_PART_BYTES, needed);
}

/** Of a content of unknown size, that comes from its start: parts grow as it gets more of them. @param count of the parts before it */
export function growingPartBytes(count: number): number {
  return LEAST_PART_BYTES * 2 ** Math.min(2, Math.floor(count / 2_500));
}

/** A part that is in memory already. */
export function payloadOfPart(bytes: Uint8Array, { sha256, md5 }: PartHashes): Payload {
  return {
    bytes,
    sha256: sha256 ? hash('sha256', bytes) : undefined,
    md5: md5 ? hash('md5', bytes, 'base64') : undefined,
  };
}

function startHash(isWanted: boolean, name: string): Hash | undefined {
  return isWanted ? createHash(name) : undefined;
}

export function tooLarge(): AppError {
  return new AppError('QUOTA_EXCEEDED', `files of more than ${(MAX_PARTS * MOST_PART_BYTES) / MIB / 1024} GiB are not uploaded`);
}
