import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { AppError, ERROR_CODES, type ErrorCode } from '@wharf/errors';
import { type Call, nameError, sayWhenToComeAgain, TUS_PATH, tusStatus } from '@wharf/service-kit';
import { beginOperation, type FsContext, uploaderOf } from '../context.ts';
import { isOwnRefusal } from '../domain/access/own-refusal.ts';
import type { Operation } from '../domain/changing/operations/operation.ts';
import { isComplete, receivedBytes, type UploadSession } from '../domain/uploads/upload-session.ts';
import type { Uploads } from '../domain/uploads/uploads.ts';
import { isDraftId } from '../driver-contract/draft.ts';
import { bodyOf } from './body-of.ts';
import { findUpload } from './find-upload.ts';
import { requireOffered } from './receive-parts.ts';
import { drain } from './refusal.ts';
import { CHECKSUM_ALGORITHMS, readBytes, readChecksum, readConcat, readNewUpload } from './tus-headers.ts';
import { readPassword } from './upload-headers.ts';

/** Of the protocol: https://tus.io/protocols/resumable-upload */
const VERSION = '1.0.0';
const EXTENSIONS = 'creation,creation-with-upload,expiration,checksum,termination,concatenation';
/** Said of an upload whose bytes wait here until its storage takes the whole file. */
const SPOOLED = { 'Upload-Spooled': '1' };
const BODY_TYPE = 'application/offset+octet-stream';

/** Statuses after which a client must not try the same again, where our own table has one that says it may; and 404 and 410 begin anew. */
const STATUSES: Partial<Readonly<Record<ErrorCode, number>>> = {
  ENTRY_EXISTS: 403,
  IS_A_DIRECTORY: 403,
  NOT_A_DIRECTORY: 403,
  QUOTA_EXCEEDED: 413,
  CONTENT_CORRUPT: 422,
};

/** What storages and mounts say of an upload that waits for its end or its next bytes: it stays, and its client may come again. */
const PASSING: Partial<Readonly<Record<ErrorCode, number>>> = {
  QUOTA_EXCEEDED: 507,
  CONTENT_CORRUPT: 502,
  MOUNT_NOT_FOUND: 423,
  ENTRY_NOT_FOUND: 423,
  PERMISSION_DENIED: 423,
  STORAGE_READ_ONLY: 423,
  UNSUPPORTED_OPERATION: 423,
  IS_A_DIRECTORY: 423,
  NOT_A_DIRECTORY: 423,
  STALE_VERSION: 423,
};

/** A status that only this protocol has. */
class TusRefusal extends Error {
  readonly status: number;
  readonly headers: OutgoingHttpHeaders;
  constructor(status: number, message: string, headers: OutgoingHttpHeaders = {}) {
    super(message);
    this.status = status;
    this.headers = headers;
  }
}

interface TusRequest {
  readonly uploads: Uploads;
  readonly operation: Operation;
  readonly request: IncomingMessage;
  readonly call: Call;
  /** Empty: none. */
  readonly id: string;
}

interface TusAnswer {
  readonly status: number;
  readonly headers: OutgoingHttpHeaders;
}

/** Answers a request by tus, failures too. @param identified its caller; not asked for where the request is about the protocol alone. */
export async function receiveTus(
  context: FsContext,
  uploads: Uploads,
  request: IncomingMessage,
  response: ServerResponse,
  { path, identified }: { path: string; identified: () => Promise<Call> },
): Promise<void> {
  const override = request.headers['x-http-method-override'];
  const method = typeof override === 'string' ? override.toUpperCase() : request.method;
  try {
    if (method === 'OPTIONS') return send(response, { status: 204, headers: offered() });
    if (request.headers['tus-resumable'] !== VERSION) throw new TusRefusal(412, 'this server speaks tus 1.0.0', { 'Tus-Version': VERSION });
    const call = await identified();
    const operation = await beginOperation(context, call);
    requireOffered(operation);
    const id = path.slice(TUS_PATH.length + 1);
    const answer = METHODS[`${method} ${id === '' ? 'all' : 'one'}`];
    if (!answer) throw new TusRefusal(405, 'this address does not answer this method');
    send(response, await answer({ uploads, operation, request, call, id }));
  } catch (error) {
    const refusal = asRefusal(error, method);
    if (!refusal) throw error;
    await drain(request);
    if (response.destroyed) return;
    if (!request.complete) response.setHeader('Connection', 'close');
    const known = AppError.is(error) ? error : new AppError('INVALID_ARGUMENT', refusal.message);
    nameError(response, known);
    sayWhenToComeAgain(response, known);
    send(response, refusal, `${refusal.message}\n`);
  }
}

const METHODS: Readonly<Record<string, (asked: TusRequest) => Promise<TusAnswer>>> = {
  'POST all': create,
  'HEAD one': head,
  'PATCH one': append,
  'DELETE one': end,
};

function offered(): OutgoingHttpHeaders {
  return { 'Tus-Version': VERSION, 'Tus-Extension': EXTENSIONS, 'Tus-Checksum-Algorithm': CHECKSUM_ALGORITHMS.join(',') };
}

async function create(asked: TusRequest): Promise<TusAnswer> {
  const { uploads, operation, request, call } = asked;
  const { isPartial, ids } = readConcat(request.headers);
  const said = { ...readNewUpload(request.headers), isPartial, ...uploaderOf(call) };
  if (ids.length > 0) {
    const partials = await Promise.all(ids.map((id) => find(asked, id)));
    return created(request, await uploads.concatenate(operation, partials, said));
  }
  const { session } = await uploads.begin(operation, { ...said, sizeBytes: readBytes(request.headers, 'upload-length'), kind: 'stream' });
  try {
    const now = request.headers['content-type'] === BODY_TYPE ? await appendBody(asked, session, 0) : session;
    return created(request, await whole(asked, now));
  } catch (error) {
    // A refusal says no place at which the client could go on.
    if (!AppError.is(error, 'CANCELLED')) await uploads.abort(session.id).catch(() => undefined);
    throw error;
  }
}

function created(request: IncomingMessage, session: UploadSession): TusAnswer {
  const [path = ''] = (request.url ?? '').split('?');
  const spooled = session.upload.spool !== undefined && SPOOLED;
  return { status: 201, headers: { Location: path.endsWith('/') ? session.id : `tus/${session.id}`, ...reached(session), ...spooled } };
}

async function head(asked: TusRequest): Promise<TusAnswer> {
  // What is not published yet is not done: a client that was told of its whole length would go away content.
  const session = await whole(asked, await find(asked, asked.id));
  return { status: 200, headers: { ...described(session), 'Cache-Control': 'no-store' } };
}

async function append(asked: TusRequest): Promise<TusAnswer> {
  const { request, id } = asked;
  if (request.headers['content-type'] !== BODY_TYPE) throw new TusRefusal(415, `the Content-Type must be ${BODY_TYPE}`);
  const offsetBytes = readBytes(request.headers, 'upload-offset');
  const session = await whole(asked, await appendBody(asked, await find(asked, id), offsetBytes));
  return { status: 204, headers: reached(session) };
}

async function appendBody(
  { uploads, operation, request }: TusRequest,
  session: UploadSession,
  offsetBytes: number,
): Promise<UploadSession> {
  const bodyBytes = Number(request.headers['content-length'] ?? 0);
  if (offsetBytes + bodyBytes > session.sizeBytes)
    throw new AppError('INVALID_ARGUMENT', 'the body is longer than what is missing of the upload');
  if (session.isPublished || isComplete(session)) {
    if (offsetBytes !== session.sizeBytes) throw new AppError('FAILED_PRECONDITION', `the upload goes on at ${session.sizeBytes}`);
    return session;
  }
  const check = readChecksum(request.headers);
  try {
    return await uploads.append(operation, session, offsetBytes, bodyOf(request), check);
  } catch (error) {
    if (check?.hasFailed) throw new TusRefusal(460, 'the body does not have the announced digest');
    throw error;
  }
}

async function end(asked: TusRequest): Promise<TusAnswer> {
  const { id } = await find(asked, asked.id);
  await asked.uploads.abort(id);
  return { status: 204, headers: {} };
}

/** An upload whose last byte has come gets its name. */
async function whole({ uploads, operation, request }: TusRequest, session: UploadSession): Promise<UploadSession> {
  if (session.isPublished || session.upload.isPartial || !isComplete(session)) return session;
  return uploads.complete(operation, session, readPassword(request.headers.password));
}

async function find(asked: TusRequest, id: string): Promise<UploadSession> {
  const session = isDraftId(id) ? await findUpload(asked, id) : undefined;
  if (session?.upload.kind !== 'stream') throw new AppError('RECORD_NOT_FOUND', 'there is no such upload');
  return session;
}

/** How far an upload is. */
function reached(session: UploadSession) {
  return { 'Upload-Offset': receivedBytes(session), 'Upload-Expires': session.expiresAt.toUTCString() };
}

function described(session: UploadSession) {
  const { sizeBytes, upload } = session;
  return {
    ...reached(session),
    'Upload-Length': sizeBytes,
    ...(upload.metadata !== '' && { 'Upload-Metadata': upload.metadata }),
    ...(upload.isPartial && { 'Upload-Concat': 'partial' }),
  };
}

/** @returns undefined for what nobody foresaw, or for a client that is gone */
function asRefusal(error: unknown, method: string | undefined): (TusAnswer & { message: string }) | undefined {
  if (error instanceof TusRefusal) return error;
  if (!AppError.is(error) || error.code === 'CANCELLED' || error.code === 'INTERNAL') return undefined;
  const isWaiting = (method === 'PATCH' || method === 'HEAD') && !isOwnRefusal(error);
  const status = (isWaiting ? PASSING[error.code] : undefined) ?? STATUSES[error.code] ?? ERROR_CODES[error.code].http;
  return { status: tusStatus(method, status), headers: {}, message: error.message };
}

function send(response: ServerResponse, { status, headers }: TusAnswer, text = ''): void {
  const bytes = Buffer.byteLength(text);
  response.writeHead(status, {
    'Tus-Resumable': VERSION,
    'X-Content-Type-Options': 'nosniff',
    ...headers,
    ...(status !== 204 && { 'Content-Length': bytes }),
    ...(bytes > 0 && { 'Content-Type': 'text/plain; charset=utf-8' }),
  });
  response.end(text);
}
