import { AppError } from '@wharf/errors';
import { holdRoom } from '../changing/operations/claim-room.ts';
import type { Operation } from '../changing/operations/operation.ts';
import { roomOf } from '../writes/write-session.ts';
import { appendStream } from './append-stream.ts';
import { isComplete, type UploadSession } from './upload-session.ts';
import type { UploadParts } from './write-part.ts';

/** What a concatenation does with uploads. */
export interface ConcatenationSteps {
  /** Begins the upload of all bytes together. */
  begin(sizeBytes: number): Promise<UploadSession>;
  complete(session: UploadSession): Promise<UploadSession>;
  abort(id: string): Promise<void>;
}

/**
 * Makes a file of partial uploads, in their order. Their room goes over to it. They are taken away once it has its name.
 *
 * @throws AppError INVALID_ARGUMENT: one is no partial upload, or not complete; what `steps` throw
 */
export async function concatenate(
  upload: UploadParts,
  operation: Operation,
  partials: readonly UploadSession[],
  steps: ConcatenationSteps,
): Promise<UploadSession> {
  if (partials.length === 0 || !partials.every((partial) => partial.upload.isPartial && isComplete(partial)))
    throw new AppError('INVALID_ARGUMENT', 'Upload-Concat: only partial uploads that are complete can be put together');
  const { quotas } = operation.snapshot;
  for (const { id } of partials) await quotas.end(operation.actor, id, 0);
  let whole: UploadSession | undefined;
  try {
    whole = await steps.begin(partials.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0));
    let session = whole;
    for (const partial of partials) session = await appendPartial(upload, operation, session, partial);
    const done = await steps.complete(session);
    for (const { id } of partials) await steps.abort(id);
    return done;
  } catch (error) {
    if (whole) await steps.abort(whole.id).catch(() => undefined);
    // They stay for another try, and take room as long.
    for (const partial of partials)
      await holdRoom(operation, roomOf(partial, partial.sizeBytes, upload.parts.options.uploadIdleMs)).then(
        (claim) => claim.letGo(),
        () => steps.abort(partial.id),
      );
    throw error;
  }
}

function appendPartial(upload: UploadParts, operation: Operation, session: UploadSession, partial: UploadSession): Promise<UploadSession> {
  return upload.parts.drafts.use(partial.id, ({ draft }) =>
    appendStream(upload, session.upload.offsetBytes, { operation, session, content: draft.read() }, undefined),
  );
}
