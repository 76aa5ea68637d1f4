import type { IncomingMessage, ServerResponse } from 'node:http';
import { baseName } from '@wharf/paths';
import { type Call, successEnvelope } from '@wharf/service-kit';
import { finishedTask } from '@wharf/task-engine';
import { creatorOf, type FsContext } from '../context.ts';
import type { Upload, UploadRequest } from '../domain/changing/upload.ts';
import { uploadName } from '../tasks/task-names.ts';
import { etagOf } from './etag.ts';
import { sendEnvelope } from './refusal.ts';
import { type Unchanged, whileUnchanged } from './while-unchanged.ts';

/** An upload whose content has begun to come. */
export interface IncomingUpload {
  readonly upload: Upload;
  readonly asked: UploadRequest;
  readonly content: AsyncIterable<Uint8Array>;
  readonly startedAt: Date;
  readonly call: Call;
}

/**
 * Stores an upload. Answers a task that is done and in no list. With `As-Task` the body is only taken in, and the answer is the task that
 * will store it.
 */
export async function storeOrQueue(
  context: FsContext,
  request: IncomingMessage,
  response: ServerResponse,
  incoming: IncomingUpload,
): Promise<void> {
  const { upload, call } = incoming;
  await whileUnchanged(context, request, upload, call, (unchanged) => storeNowOrLater(context, request, response, incoming, unchanged));
}

async function storeNowOrLater(
  { tasks }: FsContext,
  request: IncomingMessage,
  response: ServerResponse,
  { upload, asked, content, startedAt, call }: IncomingUpload,
  { beforePublish, replaces }: Unchanged,
): Promise<void> {
  const creator = creatorOf(call);
  if (request.headers['as-task'] === 'true' && tasks.uploads) {
    const kept = { ...asked, overwrite: asked.overwrite && upload.mayReplace };
    const task = await tasks.uploads.receive({
      upload,
      request: kept,
      content: upload.whileAllowed(content),
      creator,
      signal: call.signal,
    });
    return sendEnvelope(response, successEnvelope({ task }));
  }
  const stored = await upload.store(content, beforePublish, replaces);
  const { sizeBytes } = stored;
  // Whoever goes on editing needs no second look, in which it could be somebody else's file already.
  const etag = etagOf(stored);
  if (etag !== undefined) response.setHeader('ETag', etag);
  const name = uploadName(baseName(upload.path) ?? '', upload.located);
  const task = finishedTask({ name, list: 'upload', creator, startedAt, sizeBytes, status: 'uploading' });
  sendEnvelope(response, successEnvelope({ task }));
}
