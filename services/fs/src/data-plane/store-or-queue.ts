import type { IncomingMessage } from 'node:http';
import { baseName } from '@wharf/paths';
import type { Call } from '@wharf/service-kit';
import { finishedTask, type WireTask } from '@wharf/task-engine';
import { creatorOf, type FsContext } from '../context.ts';
import type { Upload, UploadRequest } from '../domain/changing/upload.ts';
import { etagOf } from '../domain/reading/etag.ts';
import { uploadName } from '../tasks/task-names.ts';
import { type Unchanged, whileUnchanged } from './while-unchanged.ts';

/** An upload whose content has begun to come. */
export interface IncomingUpload {
  readonly upload: Upload;
  readonly asked: UploadRequest;
  readonly content: AsyncIterable<Uint8Array>;
  readonly startedAt: Date;
  readonly call: Call;
  /** Called before the last of the content is handed on: from then on it may be stored, whatever fails. */
  readonly onWhole: () => void;
}

/** What is answered of an upload. */
export interface StoredUpload {
  /** One that is done and in no list; with `As-Task` the one that will store it. */
  readonly task: WireTask;
  /** Of what is stored, where it has one. */
  readonly etag?: string | undefined;
}

/** Stores an upload. With `As-Task` the body is only taken in. */
export async function storeOrQueue(context: FsContext, request: IncomingMessage, incoming: IncomingUpload): Promise<StoredUpload> {
  const { upload, call } = incoming;
  return whileUnchanged(context, request, upload, call, (unchanged) => storeNowOrLater(context, request, incoming, unchanged));
}

async function storeNowOrLater(
  { tasks }: FsContext,
  request: IncomingMessage,
  { upload, asked, content: sent, startedAt, call, onWhole }: IncomingUpload,
  { beforePublish, replaces }: Unchanged,
): Promise<StoredUpload> {
  // Who sends no key does not ask again.
  const content = call.onceKey === undefined ? sent : tellingOfEnd(sent, asked.sizeBytes, onWhole);
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
    return { task };
  }
  const stored = await upload.store(content, beforePublish, replaces);
  const { sizeBytes } = stored;
  const name = uploadName(baseName(upload.path) ?? '', upload.located);
  const task = finishedTask({ name, list: 'upload', creator, startedAt, sizeBytes, status: 'uploading' });
  // Whoever goes on editing needs no second look, in which it could be somebody else's file already.
  return { task, etag: etagOf(stored) };
}

/** @param sizeBytes where that is known a storage may be through with the last byte, and asks for none of an empty content */
function tellingOfEnd(content: AsyncIterable<Uint8Array>, sizeBytes: number | undefined, onWhole: () => void): AsyncIterable<Uint8Array> {
  if (sizeBytes === 0) onWhole();
  return toItsEnd(content, sizeBytes, onWhole);
}

async function* toItsEnd(
  content: AsyncIterable<Uint8Array>,
  sizeBytes: number | undefined,
  onWhole: () => void,
): AsyncGenerator<Uint8Array> {
  let missingBytes = sizeBytes ?? Number.POSITIVE_INFINITY;
  for await (const chunk of content) {
    missingBytes -= chunk.byteLength;
    if (missingBytes <= 0) onWhole();
    yield chunk;
  }
  onWhole();
}
