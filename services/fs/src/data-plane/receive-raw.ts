import type { IncomingMessage, ServerResponse } from 'node:http';
import { AppError } from '@wharf/errors';
import type { Call } from '@wharf/service-kit';
import { beginOperation, type FsContext } from '../context.ts';
import { beginUpload, type Upload } from '../domain/changing/upload.ts';
import type { BeforePublish, Entry } from '../driver-contract/storage-driver.ts';
import { bodyOf } from './body-of.ts';
import { etagOf } from './etag.ts';
import { matchesAny } from './preconditions.ts';
import { storeOrQueue } from './store-or-queue.ts';
import { readBodySize, readUploadHeaders } from './upload-headers.ts';

/** `PUT /api/fs/put`: the body is the file. */
export async function receiveRaw(context: FsContext, request: IncomingMessage, response: ServerResponse, call: Call): Promise<void> {
  const startedAt = new Date();
  const operation = await beginOperation(context, call);
  const asked = { ...readUploadHeaders(request.headers), sizeBytes: readBodySize(request.headers) };
  const upload = await beginUpload(operation, asked);
  const requireUnchanged = whileUnchanged(request, upload, call.signal);
  // Told before the first byte where it is true already.
  const replaces = await requireUnchanged?.();
  const { promise: over, resolve: end } = Promise.withResolvers<void>();
  const beforePublish = requireUnchanged && keepingItsTurn(context, requireUnchanged, upload, call.signal, over);
  try {
    const content = bodyOf(request);
    await storeOrQueue(context, request, response, { upload, asked, content, startedAt, call, beforePublish, replaces });
  } finally {
    end();
  }
}

/** @returns the file that may be replaced. @throws AppError STALE_VERSION: it is another one */
type RequireUnchanged = () => Promise<Entry>;

/**
 * Asks when no other one is between its question and the name of the same file: two that ask at the same moment would both be told that the file is
 * the one they know, and one of them would be lost. The turn is kept until `over`.
 */
function keepingItsTurn(
  { takeTurn }: FsContext,
  ask: RequireUnchanged,
  { located }: Upload,
  signal: AbortSignal,
  over: Promise<void>,
): BeforePublish {
  const place = `${located.mount.storage._id}\n${located.path}`;
  let turn: Promise<void> | undefined;
  return async () => {
    turn ??= takeTurn(place, over, signal);
    await turn;
    await ask();
  };
}

/**
 * Lets a file be replaced only while it is the one that `If-Match` names by its ETag. It is asked right before the new content gets the name; what
 * another program writes between that moment and the next is not seen.
 *
 * @returns undefined: the client has no such wish
 * @throws AppError INVALID_ARGUMENT: a task would store it later
 */
function whileUnchanged({ headers }: IncomingMessage, { located }: Upload, signal: AbortSignal): RequireUnchanged | undefined {
  const tags = headers['if-match'];
  if (tags === undefined) return undefined;
  if (headers['as-task'] === 'true') throw new AppError('INVALID_ARGUMENT', 'If-Match and As-Task do not go together');
  return async () => {
    const driver = await located.mount.driver();
    const entry = await driver.stat(located.path, { signal }).catch((error: unknown) => {
      if (AppError.is(error, 'ENTRY_NOT_FOUND')) return undefined;
      throw error;
    });
    if (!entry || !matchesAny(tags, etagOf(entry)))
      throw new AppError('STALE_VERSION', 'the file was changed since: its ETag is another one');
    return entry;
  };
}
