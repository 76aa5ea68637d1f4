import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { AppError, ERROR_CODES } from '@wharf/errors';
import { awaitBody, forOwner } from '@wharf/pace';
import {
  type ByteServer,
  type Call,
  type Callers,
  type EnvelopeCodes,
  endWhenIdle,
  foreseen,
  forPeople,
  hasLongText,
  inSpan,
  isTusPath,
  isUser,
  onceClosed,
  partCodes,
  readCallHeaders,
  type ServiceKit,
  shareKeyOf,
  successEnvelope,
  type TransferLimit,
  takeLongTurn,
  traceparentOf,
  tusStatus,
  withHops,
} from '@wharf/service-kit';
import type { FsContext } from '../context.ts';
import { isOwnRefusal } from '../domain/access/own-refusal.ts';
import type { Uploads } from '../domain/uploads/uploads.ts';
import type { AccelAddress } from './accel-redirect.ts';
import type { DirectRequests } from './direct-requests.ts';
import { serveDownload } from './download.ts';
import { receiveForm } from './receive-form.ts';
import { receiveParts, takesParts, UploadFailure } from './receive-parts.ts';
import { type RangeReceiver, receiveRange, writeSessionOf } from './receive-range.ts';
import { receiveRaw } from './receive-raw.ts';
import { receiveTus } from './receive-tus.ts';
import { drain, refuseDownload, refuseUpload, sendEnvelope } from './refusal.ts';
import { whatIsPut } from './upload-headers.ts';

export interface DataPlaneOptions {
  readonly context: FsContext;
  readonly writes: RangeReceiver;
  readonly uploads: Uploads;
  readonly kit: Pick<ServiceKit, 'tokens' | 'logger' | 'tracing'>;
  /** For requests that reach us without a gateway. */
  readonly callers: Callers;
  readonly direct: DirectRequests;
  readonly transfers: TransferLimit;
  /** Of files that a proxy in front of us takes by itself. */
  readonly accelAddress: AccelAddress | undefined;
}

const PUT_CODES: EnvelopeCodes = { STALE_VERSION: 412 };
/** What clients of the form route expect where a storage takes no uploads. */
const FORM_CODES: EnvelopeCodes = { ...PUT_CODES, UNSUPPORTED_OPERATION: 405 };
/** The same of uploads in parts. */
const PART_CODES: EnvelopeCodes = { UNSUPPORTED_OPERATION: 405, RECORD_NOT_FOUND: 404, FAILED_PRECONDITION: 409 };

/** Both faces of the data plane. */
export interface DataPlane {
  /** For a gateway in this process. */
  readonly serve: ByteServer;
  /** For whoever reaches us over HTTP. */
  readonly listener: RequestListener;
}

/** A call as far as it is known before its request is looked at. */
type HandedOver = Parameters<ByteServer>[2];

/**
 * The HTTP routes that carry bytes: `PUT /api/fs/put` and `/api/fs/form`, uploads in parts below `/api/fs/multipart` and `/api/fs/tus`, and downloads below `/d` and `/p`. The gateway hands requests
 * over with the caller's identity; one that comes directly is authenticated here, from its `Authorization` header.
 */
export function createDataPlane(options: DataPlaneOptions): DataPlane {
  const begin = (request: IncomingMessage, response: ServerResponse, told: HandedOver | undefined) => {
    const gone = new AbortController();
    onceClosed(response, () => {
      if (!response.writableFinished) gone.abort();
    });
    serve(options, request, response, { told, gone }).catch(() => response.destroy());
  };
  return { serve: begin, listener: (request, response) => begin(request, response, undefined) };
}

/** A request as far as it tells what it is for. */
interface Asked {
  readonly path: string;
  readonly query: () => URLSearchParams;
  readonly isUpload: boolean;
  /** Of an upload in parts. */
  readonly isPart: boolean;
  /** By tus. */
  readonly isTus: boolean;
  /** The write session that it brings bytes for. */
  readonly writeSession: string | undefined;
  readonly download: { readonly route: 'd' | 'p'; readonly path: string } | undefined;
}

function readAsked(request: IncomingMessage): Asked {
  const { url = '/', method } = request;
  const mark = url.indexOf('?');
  const path = mark === -1 ? url : url.slice(0, mark);
  const isPart = takesParts(request, path);
  const download = method === 'GET' || method === 'HEAD' ? /^\/([dp])(\/.*)?$/s.exec(path) : null;
  return {
    path,
    query: () => new URLSearchParams(mark === -1 ? '' : url.slice(mark + 1)),
    isUpload: isPart || isTusPath(path) || path === '/api/fs/put' || path === '/api/fs/form',
    isPart,
    isTus: isTusPath(path),
    writeSession: writeSessionOf(request, path),
    download: download ? { route: download[1] === 'd' ? 'd' : 'p', path: download[2] ?? '/' } : undefined,
  };
}

async function serve(
  options: DataPlaneOptions,
  request: IncomingMessage,
  response: ServerResponse,
  { told, gone }: { told: HandedOver | undefined; gone: AbortController },
): Promise<void> {
  const { context, kit } = options;
  const { signal } = gone;
  const asked = readAsked(request);
  const { isUpload, isPart, path } = asked;
  endWhenIdle(response, isUpload || asked.writeSession !== undefined);
  try {
    const forwarded = told ? undefined : readCallHeaders(kit.tokens, request.headers, signal);
    const call = told ? { ...told, signal } : (forwarded ?? options.direct.callOf(request, signal));
    if (!told && !forwarded && (await options.direct.answer(request, response, { path, call }))) return;
    // Requests of our own services are bounded by the limits of those services.
    if (asked.writeSession === undefined) options.transfers.begin(response, call);
    else if (forwarded) awaitBody(request);
    // A request that comes directly begins a trace.
    const parent = told ? undefined : forwarded ? traceparentOf(request.headers) : '';
    const spanOptions = { kind: 'server', ...(parent === undefined ? {} : { parent }) } as const;
    await inSpan(kit.tracing, `${request.method} ${routeOf(asked)}`, spanOptions, async (span) => {
      const answering = () => forOwner(shareKeyOf(call), () => answer(options, request, response, asked, call));
      await (call.hops ? withHops(call.hops, answering) : answering());
      span?.tell({ 'http.response.status_code': response.statusCode });
    });
  } catch (thrown) {
    const { cause: error, snapshot } = thrown instanceof UploadFailure ? thrown : { cause: thrown, snapshot: undefined };
    const refusal = AppError.from(forPeople(foreseen(error)));
    if (refusal.code === 'CANCELLED' || signal.aborted) return void response.destroy();
    // Whatever the request still holds, such as a file that was opened and not read.
    gone.abort();
    if (refusal.code === 'INTERNAL') kit.logger.error({ err: error, route: isUpload ? path : path.slice(0, 2) }, 'unforeseen error');
    const codes = isPart ? { ...PART_CODES, ...partCodes(path) } : path === '/api/fs/form' ? FORM_CODES : PUT_CODES;
    if (asked.isTus) refuseDownload(request, response, refusal, tusStatus(request.method, ERROR_CODES[refusal.code].http));
    else if (isUpload) await refuseUpload(context, request, response, refusal, { codes, data: snapshot });
    else refuseDownload(request, response, refusal);
  }
}

async function answer(
  options: DataPlaneOptions,
  request: IncomingMessage,
  response: ServerResponse,
  asked: Asked,
  came: Call,
): Promise<void> {
  const { context } = options;
  const { path, query, isPart, writeSession, download } = asked;
  // As calls with long texts are.
  const { 'file-path': filePath, 'upload-metadata': metadata } = request.headers;
  const call = hasLongText([request.url, filePath, metadata]) ? await takeLongTurn(came) : came;
  const identify = async (): Promise<Call> => {
    if (call.identity?.kind === 'user') return call;
    const { identity } = await options.callers.establish(request.headers.authorization);
    if (isUser(identity)) awaitBody(request);
    return { ...call, identity };
  };
  if (asked.isTus) return receiveTus(context, options.uploads, request, response, { path, identified: identify });
  if (isPart || (asked.isUpload && request.method === 'PUT')) {
    const identified = await identify();
    if (isPart) return receiveParts(context, options.uploads, request, response, { path, query: query(), call: identified });
    const receive = path === '/api/fs/put' ? receiveRaw : receiveForm;
    // No content has a name before its last byte.
    let isWhole = false;
    const leavesNothing = (error: unknown) => !isWhole || isRefusedByUs(error);
    const onWhole = () => {
      isWhole = true;
    };
    let isDone = true;
    const run = (waited: Call) => {
      isDone = false;
      return receive(context, request, waited, onWhole);
    };
    const { task, etag } = await context.once(identified, whatIsPut(path, request.headers), run, { leavesNothing });
    // Most clients read an answer only when they could send everything.
    if (isDone) await drain(request, call.signal);
    if (etag !== undefined) response.setHeader('ETag', etag);
    return sendEnvelope(response, successEnvelope({ task }));
  }
  if (writeSession !== undefined) return receiveRange(options.writes, request, response, { id: writeSession, query: query(), call });
  if (download) return serveDownload(context, request, response, { call, ...download, query: query(), accelAddress: options.accelAddress });
  throw new AppError('RECORD_NOT_FOUND', 'not found');
}

/**
 * Whether an upload that failed has surely stored nothing, though all of its content was handed on. What a storage says may be of a look at what it has taken, or of
 * another folder that was to have it, too. That it is busy is said before it is asked.
 */
function isRefusedByUs(error: unknown): boolean {
  return isOwnRefusal(error) || AppError.is(error, 'UNAUTHENTICATED') || AppError.is(error, 'OVERLOADED');
}

/** What a request is for, without what it names. */
function routeOf({ path, isUpload, isTus: isByTus, writeSession, download }: Asked): string {
  if (isByTus) return '/api/fs/tus/*';
  if (isUpload) return path;
  if (writeSession !== undefined) return '/internal/writes/*';
  return download ? `/${download.route}/*` : 'unknown';
}
