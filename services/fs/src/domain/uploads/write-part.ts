import { AppError } from '@wharf/errors';
import type { VirtualPath } from '@wharf/paths';
import type { Operation } from '../changing/operations/operation.ts';
import { thenAllowed } from '../changing/upload.ts';
import { claimOf, syncDraft } from '../writes/open-drafts.ts';
import { type SessionParts, uploadExpiry } from '../writes/session-parts.ts';
import { counted, requireLength } from './counted-content.ts';
import { createPartSum } from './part-sum.ts';
import type { RunningHashes } from './running-hashes.ts';
import { type HeldPart, lostUpload, noUpload, type UploadClaims } from './upload-claims.ts';
import { partRange, type UploadSession, type UploadStore } from './upload-session.ts';

/** What the steps of an upload work with. */
export interface UploadParts {
  readonly parts: SessionParts;
  readonly store: UploadStore;
  readonly claims: UploadClaims;
  readonly running: RunningHashes;
}

/** Bytes that a client sends for one upload. */
export interface IncomingPart {
  readonly operation: Operation;
  readonly session: UploadSession;
  readonly content: AsyncIterable<Uint8Array>;
}

/**
 * Writes one part of the grid and notes it once it is durable. One that is there already is compared, and not written again.
 *
 * @throws AppError INVALID_ARGUMENT (another length, or other bytes than before) | FAILED_PRECONDITION (it comes elsewhere) | QUOTA_EXCEEDED;
 * RECORD_NOT_FOUND: the upload has ended meanwhile
 */
export async function writePart(upload: UploadParts, index: number, { operation, session, content }: IncomingPart): Promise<UploadSession> {
  const { parts, store, claims, running } = upload;
  const { id } = session;
  const { offsetBytes, lengthBytes } = partRange(session, index);
  const key = String(index);
  const passed = { bytes: 0, sum: createPartSum(id) };
  const body = counted(allowed(content, operation, session.path), lengthBytes, passed);
  const outcome = session.upload.parts.has(index)
    ? ('accepted' as const)
    : await claims.hold(session, key, false, async (held) => {
        const hashed = running.follow(session, offsetBytes, kept(body, held));
        await writeRange(parts, held, offsetBytes, hashed.content);
        requireLength(passed.bytes, lengthBytes);
        const accepted = await store.accept({ id, key, writer: held.writer }, passed.sum.value(), uploadExpiry(parts));
        if (!accepted) throw await lostUpload(store, id);
        held.over();
        hashed.keep();
        return accepted;
      });
  if (outcome !== 'accepted') return outcome;
  for await (const _piece of body);
  requireLength(passed.bytes, lengthBytes);
  const now = await store.find(id);
  if (!now) throw noUpload();
  if (now.upload.parts.get(index) !== passed.sum.value())
    throw new AppError('INVALID_ARGUMENT', `part ${index} was sent before with other bytes`);
  return now;
}

/** Writes into the draft of an upload within the quota, and makes it durable. @returns the bytes written */
export function writeRange(
  { drafts }: SessionParts,
  { session, signal }: HeldPart,
  offsetBytes: number,
  content: AsyncIterable<Uint8Array>,
): Promise<number> {
  return drafts.use(session.id, async (open, inUse) => {
    await claimOf(open, inUse);
    const writtenBytes = await open.draft.write(offsetBytes, content, { signal, caller: `user ${session.userId}` });
    await syncDraft(drafts, open);
    return writtenBytes;
  });
}

/** Passes a content on as long as its writer is the one. */
export async function* kept(content: AsyncIterable<Uint8Array>, { keep }: HeldPart): AsyncGenerator<Uint8Array, void> {
  for await (const chunk of content) {
    await keep();
    yield chunk;
  }
}

/** Passes a content on as long as whoever sends it may upload there. */
export function allowed(content: AsyncIterable<Uint8Array>, operation: Operation, path: VirtualPath): AsyncIterable<Uint8Array> {
  return thenAllowed(content, operation, { path, allowedAtMs: operation.askedAtMs, password: undefined });
}
