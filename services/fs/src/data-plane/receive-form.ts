import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import { Busboy, type BusboyHeaders, type BusboyInstance } from '@fastify/busboy';
import { AppError } from '@wharf/errors';
import type { Call } from '@wharf/service-kit';
import { beginOperation, type FsContext } from '../context.ts';
import { beginUpload } from '../domain/changing/upload.ts';
import { type IncomingUpload, type StoredUpload, storeOrQueue } from './store-or-queue.ts';
import { readUploadHeaders } from './upload-headers.ts';

/** The one part that is stored. */
const FILE_FIELD = 'file';
/** Other parts are skipped; these limits bound what is read of them. The head of a part costs as much as 10 KB of a file. */
const LIMITS = { files: 20, fields: 20, parts: 40, fieldSize: 64 * 1024, headerPairs: 50 } as const;

/** `PUT /api/fs/form`: the file part of a multipart body whose field is called `file`. @param onWhole as of {@link IncomingUpload} */
export async function receiveForm(
  context: FsContext,
  request: IncomingMessage,
  call: Call,
  onWhole: IncomingUpload['onWhole'],
): Promise<StoredUpload> {
  const startedAt = new Date();
  const operation = await beginOperation(context, call);
  const asked = { ...readUploadHeaders(request.headers), sizeBytes: undefined };
  const upload = await beginUpload(operation, asked).catch(asFormError);
  const parser = parserFor(request);
  const file = findFile(parser, request, call.signal);
  request.pipe(parser);
  try {
    return await storeOrQueue(context, request, { upload, asked, content: await file, startedAt, call, onWhole });
  } catch (error) {
    request.unpipe(parser);
    throw error;
  }
}

/** This route has a text of its own for storages that take no uploads. */
function asFormError(error: unknown): never {
  if (AppError.is(error, 'UNSUPPORTED_OPERATION'))
    throw new AppError('UNSUPPORTED_OPERATION', "Current storage doesn't support upload", { cause: error });
  throw error;
}

function parserFor(request: IncomingMessage): BusboyInstance {
  const type = request.headers['content-type'];
  if (type === undefined || !/^multipart\/form-data\b/i.test(type)) throw malformed('the Content-Type must be multipart/form-data');
  try {
    return new Busboy({
      headers: request.headers as BusboyHeaders,
      limits: LIMITS,
    });
  } catch (cause) {
    throw malformed('the multipart boundary is missing', cause);
  }
}

/** The file part as a stream that fails when the body ends before the part does. */
function findFile(parser: BusboyInstance, request: IncomingMessage, signal: AbortSignal | undefined): Promise<Readable> {
  return new Promise((resolve, reject) => {
    let file: Readable | undefined;
    const fail = (error: AppError) => {
      file?.destroy(error);
      reject(error);
    };
    parser.on('file', (field, stream: Readable) => {
      // The stream may fail before it is read. Its reader still gets the error.
      stream.on('error', () => undefined);
      if (file !== undefined || field !== FILE_FIELD) return void stream.resume();
      file = stream;
      resolve(stream);
    });
    parser.on('error', (cause) => fail(malformed('the multipart body ends too early or is broken', cause)));
    parser.on('partsLimit', () => fail(malformed(`the multipart body has more than ${LIMITS.parts} parts`)));
    parser.on('finish', () => reject(malformed(`the multipart body has no file part '${FILE_FIELD}'`)));
    const onGone = () => fail(new AppError('CANCELLED', 'the upload was cancelled'));
    // The client may have gone while its rights were looked up: nothing more comes of its request then.
    if (signal?.aborted) onGone();
    else signal?.addEventListener('abort', onGone, { once: true });
    request.on('aborted', onGone);
    request.on('error', (cause) => fail(new AppError('CANCELLED', 'the upload was cancelled', { cause })));
  });
}

function malformed(message: string, cause?: unknown): AppError {
  return new AppError('INVALID_ARGUMENT', message, { cause });
}
