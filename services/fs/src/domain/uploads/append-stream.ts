import { AppError } from '@wharf/errors';
import { uploadExpiry } from '../writes/session-parts.ts';
import { lostUpload, noUpload } from './upload-claims.ts';
import type { UploadSession } from './upload-session.ts';
import { allowed, type IncomingPart, kept, type UploadParts, writeRange } from './write-part.ts';

/** So many bytes are made durable at a time where the storage has no parts of its own: what a crash takes back. */
const BLOCK_BYTES = 8 * 1024 * 1024;

/** A verdict on a whole body, for a client that sent a digest along. */
export interface BodyCheck {
  update(chunk: Uint8Array): void;
  /** @throws AppError CONTENT_CORRUPT */
  verify(): void;
}

/**
 * Goes on with a stream. What came of a body that was cut is kept; of one with a digest all or nothing is.
 *
 * @throws AppError FAILED_PRECONDITION: the stream is not at this offset | INVALID_ARGUMENT: longer than announced | CANCELLED: the client is gone
 */
export async function appendStream(
  upload: UploadParts,
  offsetBytes: number,
  { operation, session, content }: IncomingPart,
  check: BodyCheck | undefined,
): Promise<UploadSession> {
  const { claims, store, parts, running } = upload;
  const { id, sizeBytes } = session;
  const outcome = await claims.hold(session, 'stream', true, async (held) => {
    let now = held.session;
    if (now.upload.offsetBytes !== offsetBytes)
      throw new AppError('FAILED_PRECONDITION', `the upload goes on at ${now.upload.offsetBytes}, not at ${offsetBytes}`);
    // Closing the draft waits for what is on its way.
    if (held.isAfterAnother) await parts.drafts.release(id);
    const body = inBlocks(kept(allowed(content, operation, session.path), held), sizeBytes - offsetBytes, check);
    let at = offsetBytes;
    const advance = async (isLast: boolean) => {
      const advanced = await store.advance({ id, writer: held.writer }, at, uploadExpiry(parts), isLast);
      if (!advanced) throw await lostUpload(store, id);
      if (isLast) held.over();
      now = advanced;
    };
    try {
      const { partBytes } = await parts.drafts.use(id, async ({ draft }) => draft);
      const blockBytes = partBytes > 1 ? partBytes : BLOCK_BYTES;
      while (!body.isOver()) {
        const hashed = running.follow(session, at, body.next(blockBytes - (at % blockBytes)));
        at += await writeRange(parts, held, at, hashed.content);
        hashed.keep();
        if (!check) await advance(body.isOver());
      }
      body.throwIfCut();
      check?.verify();
    } catch (error) {
      // Blocks of a refused body were followed as they came.
      if (check) running.forget(id);
      throw error;
    } finally {
      body.close();
    }
    if (check) await advance(true);
    return now;
  });
  if (outcome === 'accepted') throw noUpload();
  return outcome;
}

/** Cuts a content into blocks; where it fails, the block ends there as if it were whole. */
function inBlocks(content: AsyncIterable<Uint8Array>, maxBytes: number, check: BodyCheck | undefined) {
  const pieces = content[Symbol.asyncIterator]();
  let left: Uint8Array | undefined;
  let end: { error?: unknown } | undefined;
  let roomBytes = maxBytes;
  const pull = async (): Promise<Uint8Array | undefined> => {
    try {
      const next = await pieces.next();
      if (next.done) end = {};
      else if (next.value.byteLength > roomBytes)
        throw new AppError('INVALID_ARGUMENT', 'the body is longer than what is missing of the upload');
      else {
        roomBytes -= next.value.byteLength;
        check?.update(next.value);
        return next.value;
      }
    } catch (error) {
      end = { error };
    }
    return undefined;
  };
  return {
    isOver: () => end !== undefined && left === undefined,
    async *next(blockBytes: number): AsyncGenerator<Uint8Array, void> {
      for (let bytes = 0; bytes < blockBytes; ) {
        left ??= end ? undefined : await pull();
        if (left === undefined) return;
        const piece = left.subarray(0, blockBytes - bytes);
        bytes += piece.byteLength;
        yield piece;
        left = piece.byteLength < left.byteLength ? left.subarray(piece.byteLength) : undefined;
      }
    },
    /** The content is told to end, and not waited for: it may stand still. */
    close: () => void pieces.return?.().catch(() => undefined),
    throwIfCut() {
      if (end && 'error' in end) throw end.error;
    },
  };
}
