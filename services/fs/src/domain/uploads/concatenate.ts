import { createHash } from 'node:crypto';
import { AppError } from '@wharf/errors';
import type { Operation } from '../changing/operations/operation.ts';
import { isOutcomeKnown } from '../changing/upload.ts';
import { appendStream } from './append-stream.ts';
import { noUpload } from './upload-claims.ts';
import { isComplete, type UploadSession } from './upload-session.ts';
import type { UploadParts } from './write-part.ts';

/** What a concatenation does with uploads. */
export interface ConcatenationSteps {
  /** Begins the upload of all bytes together. */
  begin(id: string, sizeBytes: number): Promise<UploadSession>;
  complete(session: UploadSession): Promise<UploadSession>;
  abort(id: string): Promise<void>;
  /** Whether somebody takes one away in this process right now. */
  isEnding(id: string): boolean;
}

/**
 * Makes a file of partial uploads, in their order. They are taken away once it has its name, and stay where it gets none: until then they and
 * the file both take room. A second call at the same time is refused; one after a crash takes away what the first had made, unless it was about to get its
 * name, or has got it: it is made once, whatever has the name since.
 *
 * @param path of the file
 * @throws AppError INVALID_ARGUMENT: one is no partial upload, not complete, or named twice | FAILED_PRECONDITION: they are being put together |
 * RECORD_NOT_FOUND: one was taken away meanwhile; what `steps` throw
 */
export async function concatenate(
  upload: UploadParts,
  operation: Operation,
  partials: readonly UploadSession[],
  path: string,
  steps: ConcatenationSteps,
): Promise<UploadSession> {
  const [first] = partials;
  if (!first || !partials.every((partial) => partial.upload.isPartial && isComplete(partial)))
    throw new AppError('INVALID_ARGUMENT', 'Upload-Concat: only partial uploads that are complete can be put together');
  const ids = partials.map(({ id }) => id);
  if (new Set(ids).size < ids.length) throw new AppError('INVALID_ARGUMENT', 'Upload-Concat names a partial upload twice');
  const id = createHash('sha256')
    .update([path, ...ids].join('\n'))
    .digest('hex')
    .slice(0, 32);
  return upload.claims.holdEnd(first, async () => {
    const begun = await upload.store.find(id);
    if (begun && (begun.isPublished || begun.publishingPath !== undefined)) return finish(await steps.complete(begun), partials, steps);
    await steps.abort(id);
    return putTogether(upload, operation, partials, id, steps);
  });
}

/** The file is there, whatever becomes of its parts: what stays goes when nobody has used it for as long as uploads are kept. */
async function finish(done: UploadSession, partials: readonly UploadSession[], { abort }: ConcatenationSteps): Promise<UploadSession> {
  for (const partial of partials) await abort(partial.id).catch(() => undefined);
  return done;
}

async function putTogether(
  upload: UploadParts,
  operation: Operation,
  partials: readonly UploadSession[],
  id: string,
  steps: ConcatenationSteps,
): Promise<UploadSession> {
  try {
    let session = await steps.begin(
      id,
      partials.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0),
    );
    for (const partial of partials)
      session = await appendPartial(upload, operation, session, partial).catch(asGone(upload, steps, partial));
    return await finish(await steps.complete(session), partials, steps);
  } catch (error) {
    // It may have its name, and the answer alone be lost: who asks again finds that out.
    const begun = isOutcomeKnown(error) ? undefined : await upload.store.find(id);
    if (begun?.publishingPath === undefined) await steps.abort(id).catch(() => undefined);
    throw error;
  }
}

/** Who takes one away while it is read closes it first, which looks like a storage that fails. */
function asGone({ store }: UploadParts, { isEnding }: ConcatenationSteps, { id }: UploadSession): (error: unknown) => Promise<never> {
  return async (error) => {
    throw isEnding(id) || !(await store.find(id)) ? noUpload() : error;
  };
}

function appendPartial(upload: UploadParts, operation: Operation, session: UploadSession, partial: UploadSession): Promise<UploadSession> {
  return upload.parts.drafts.use(partial.id, ({ draft }) =>
    appendStream(upload, session.upload.offsetBytes, { operation, session, content: draft.read() }, undefined),
  );
}
