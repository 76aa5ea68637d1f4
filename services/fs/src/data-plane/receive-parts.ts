import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { AppError } from '@wharf/errors';
import { type Call, successEnvelope } from '@wharf/service-kit';
import { beginOperation, type FsContext, uploaderOf } from '../context.ts';
import { ownRefusal } from '../domain/access/own-refusal.ts';
import type { Operation } from '../domain/changing/operations/operation.ts';
import { shownPath } from '../domain/snapshot/snapshot.ts';
import { partCount, partRange, receivedBytes, receivedRanges, receivedSums, type UploadSession } from '../domain/uploads/upload-session.ts';
import type { Uploads } from '../domain/uploads/uploads.ts';
import { isDraftId } from '../driver-contract/draft.ts';
import { bodyOf } from './body-of.ts';
import { findUpload } from './find-upload.ts';
import { sendEnvelope } from './refusal.ts';
import { readPassword, readUploadHeaders, requireUnconditional } from './upload-headers.ts';

/** One request of the family's uploads in parts. */
interface PartRequest {
  readonly uploads: Uploads;
  readonly operation: Operation;
  readonly request: IncomingMessage;
  readonly query: URLSearchParams;
  readonly call: Call;
}

/** A failure of one upload, with what is known of it: clients go on from there. */
export class UploadFailure extends Error {
  override readonly cause: unknown;
  readonly snapshot: object;
  constructor(cause: unknown, snapshot: object) {
    super('an upload in parts failed');
    this.cause = cause;
    this.snapshot = snapshot;
  }
}

type Answer = (asked: PartRequest) => Promise<object | undefined>;

/** The routes below `/api/fs/multipart`, by method and name. */
const ROUTES: Readonly<Record<string, Answer>> = {
  'POST init': init,
  'PUT chunk': chunk,
  'POST complete': complete,
  'GET status': status,
  'POST abort': abort,
};

const PREFIX = '/api/fs/multipart/';

/** Whether a request is one of these. */
export function takesParts({ method }: IncomingMessage, path: string): boolean {
  return path.startsWith(PREFIX) && ROUTES[`${method} ${path.slice(PREFIX.length)}`] !== undefined;
}

/** Answers a request of the family's uploads in parts. @throws AppError | UploadFailure */
export async function receiveParts(
  context: FsContext,
  uploads: Uploads,
  request: IncomingMessage,
  response: ServerResponse,
  { path, query, call }: { path: string; query: URLSearchParams; call: Call },
): Promise<void> {
  const operation = await beginOperation(context, call);
  requireOffered(operation);
  const answer = ROUTES[`${request.method} ${path.slice(PREFIX.length)}`];
  sendEnvelope(response, successEnvelope(await answer?.({ uploads, operation, request, query, call })));
}

/** @throws AppError PERMISSION_DENIED: the setting `multipart_enabled` is off */
export function requireOffered({ snapshot }: Operation): void {
  if (!snapshot.settings.isOn('multipart_enabled')) throw ownRefusal('PERMISSION_DENIED', 'multipart upload is disabled');
}

async function init({ uploads, operation, request, call }: PartRequest): Promise<object> {
  const { headers } = request;
  requireUnconditional(headers);
  const { password = '', ...asked } = readUploadHeaders(headers);
  const sizeBytes = numberOf(headers, 'x-file-size');
  if (sizeBytes === 0) throw new AppError('INVALID_ARGUMENT', 'X-File-Size must be more than 0: an empty file is put');
  const wishedChunkBytes = headers['x-chunk-size'] === undefined ? 0 : numberOf(headers, 'x-chunk-size');
  const begun = await uploads.begin(operation, { ...asked, password, sizeBytes, wishedChunkBytes, kind: 'parts', ...uploaderOf(call) });
  return { ...snapshotOf(operation, begun.session), resumed: begun.isResumed };
}

async function chunk(asked: PartRequest): Promise<object> {
  const { uploads, operation, request } = asked;
  const session = await findUpload(asked, uploadId(request.headers));
  return withSnapshot(operation, uploads, session, async () => {
    if (session.isPublished) return session;
    if (session.upload.kind !== 'parts') throw new AppError('INVALID_ARGUMENT', 'this upload takes no parts');
    const index = numberOf(request.headers, 'x-chunk-index');
    const { lengthBytes } = partRange(session, index);
    const announced = request.headers['content-length'];
    if (announced !== undefined && Number(announced) !== lengthBytes)
      throw new AppError('INVALID_ARGUMENT', `part ${index} has ${lengthBytes} bytes, not ${announced}`);
    return uploads.writePart(operation, session, index, bodyOf(request));
  });
}

async function complete(asked: PartRequest): Promise<object> {
  const { uploads, operation, request } = asked;
  requireUnconditional(request.headers);
  const session = await findUpload(asked, uploadId(request.headers));
  return withSnapshot(operation, uploads, session, () => uploads.complete(operation, session, readPassword(request.headers.password)));
}

async function status({ uploads, operation, query }: PartRequest): Promise<object> {
  const id = query.get('upload_id');
  const path = query.get('path');
  if (id !== null) {
    const session = await uploads.find(operation, checkedId(id));
    return {
      ...snapshotOf(operation, session),
      ...(query.get('sums') === 'true' && !session.isPublished && { sums: receivedSums(session) }),
    };
  }
  if (path === null) throw new AppError('INVALID_ARGUMENT', 'upload_id is required, or path and size');
  return snapshotOf(operation, await uploads.findByPath(operation, path, bytesOf(query.get('size') ?? '', 'size')));
}

async function abort({ uploads, operation, request }: PartRequest): Promise<undefined> {
  const session = await uploads.find(operation, uploadId(request.headers));
  if (!session.isPublished) await uploads.abort(session.id);
  return undefined;
}

/** Answers a failure with what is there now. */
async function withSnapshot(
  operation: Operation,
  uploads: Uploads,
  session: UploadSession,
  run: () => Promise<UploadSession>,
): Promise<object> {
  try {
    return snapshotOf(operation, await run());
  } catch (error) {
    const now = await uploads.find(operation, session.id).catch(() => undefined);
    const message = AppError.from(error).message;
    throw new UploadFailure(error, {
      ...snapshotOf(operation, now ?? session),
      ...(!now && { state: 'failed_permanent' }),
      error: message,
    });
  }
}

/** An upload as clients of the family know it. */
function snapshotOf({ actor }: Pick<Operation, 'actor'>, session: UploadSession): object {
  const { id, path, sizeBytes, isPublished, upload } = session;
  const total = partCount(session);
  const received = isPublished ? (total === 0 ? [] : [[0, total - 1] as const]) : receivedRanges(session);
  const first = received[0];
  return {
    upload_id: id,
    state: isPublished ? 'completed' : 'receiving',
    attempt: 1,
    path: shownPath(actor, path),
    size: sizeBytes,
    chunk_size: upload.chunkBytes,
    total_chunks: total,
    received,
    received_bytes: receivedBytes(session),
    frontier: first?.[0] === 0 ? first[1] + 1 : 0,
    spooled: upload.spool !== undefined,
    storage_progress: isPublished ? 100 : Math.floor((receivedBytes(session) * 100) / Math.max(1, sizeBytes)),
  };
}

function uploadId(headers: IncomingHttpHeaders): string {
  const id = headers['x-upload-id'];
  if (typeof id !== 'string') throw new AppError('INVALID_ARGUMENT', 'X-Upload-Id is required');
  return checkedId(id);
}

/** What is no id of ours is the id of nothing. */
function checkedId(id: string): string {
  if (!isDraftId(id)) throw new AppError('RECORD_NOT_FOUND', 'there is no such upload');
  return id;
}

function numberOf(headers: IncomingHttpHeaders, name: string): number {
  const value = headers[name];
  return bytesOf(typeof value === 'string' ? value : '', name);
}

function bytesOf(text: string, name: string): number {
  const value = Number(text);
  if (!/^\d+$/.test(text) || !Number.isSafeInteger(value)) throw new AppError('INVALID_ARGUMENT', `${name} must be a number, 0 or more`);
  return value;
}
