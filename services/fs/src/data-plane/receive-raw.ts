import type { IncomingMessage } from 'node:http';
import type { Call } from '@wharf/service-kit';
import { beginOperation, type FsContext } from '../context.ts';
import { beginUpload } from '../domain/changing/upload.ts';
import { bodyOf } from './body-of.ts';
import { type IncomingUpload, type StoredUpload, storeOrQueue } from './store-or-queue.ts';
import { readBodySize, readUploadHeaders } from './upload-headers.ts';

/** `PUT /api/fs/put`: the body is the file. @param onWhole as of {@link IncomingUpload} */
export async function receiveRaw(
  context: FsContext,
  request: IncomingMessage,
  call: Call,
  onWhole: IncomingUpload['onWhole'],
): Promise<StoredUpload> {
  const startedAt = new Date();
  const operation = await beginOperation(context, call);
  const asked = { ...readUploadHeaders(request.headers), sizeBytes: readBodySize(request.headers) };
  const upload = await beginUpload(operation, asked);
  return storeOrQueue(context, request, { upload, asked, content: bodyOf(request), startedAt, call, onWhole });
}
