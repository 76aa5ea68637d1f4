import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Call } from '@wharf/service-kit';
import { beginOperation, type FsContext } from '../api/fs-context.ts';
import { beginUpload } from '../domain/upload.ts';
import { bodyOf } from './body-of.ts';
import { answerUpload } from './upload-answer.ts';
import { readBodySize, readUploadHeaders } from './upload-headers.ts';

/** `PUT /api/fs/put`: the body is the file. */
export async function receiveRaw(context: FsContext, request: IncomingMessage, response: ServerResponse, call: Call): Promise<void> {
  const startedAt = new Date();
  const operation = await beginOperation(context, call);
  const upload = await beginUpload(operation, { ...readUploadHeaders(request.headers), sizeBytes: readBodySize(request.headers) });
  const entry = await upload.store(bodyOf(request));
  answerUpload(response, upload, { entry, startedAt, call });
}
