import { randomUUID } from 'node:crypto';
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { AppError } from '@wharf/errors';
import {
  type ByteServer,
  type Call,
  type Callers,
  type EnvelopeCodes,
  foreseen,
  type InternalTokens,
  type Logger,
  readCallHeaders,
  type TransferLimit,
} from '@wharf/service-kit';
import type { FsContext } from '../context.ts';
import type { Uploads } from '../domain/uploads/uploads.ts';
import { serveDownload } from './download.ts';
import { endWhenIdle } from './end-when-idle.ts';
import { receiveForm } from './receive-form.ts';
import { receiveParts, takesParts, UploadFailure } from './receive-parts.ts';
import { type RangeReceiver, receiveRange, writeSessionOf } from './receive-range.ts';
import { receiveRaw } from './receive-raw.ts';
import { refuseDownload, refuseUpload } from './refusal.ts';

export interface DataPlaneOptions {
  readonly context: FsContext;
  readonly writes: RangeReceiver;
  readonly uploads: Uploads;
  readonly tokens: InternalTokens;
  /** For requests that reach us without a gateway. */
  readonly callers: Callers;
  readonly transfers: TransferLimit;
  readonly logger: Logger;
}

/** What clients of the form route expect where a storage takes no uploads. */
const FORM_CODES: EnvelopeCodes = { UNSUPPORTED_OPERATION: 405 };
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
 * The HTTP routes that carry bytes: `PUT /api/fs/put` and `/api/fs/form`, uploads in parts below `/api/fs/multipart`, and downloads below `/d` and `/p`. The gateway hands requests
 * over with the caller's identity; one that comes directly is authenticated here, from its `Authorization` header.
 */
export function createDataPlane(options: DataPlaneOptions): DataPlane {
  const begin = (request: IncomingMessage, response: ServerResponse, told: HandedOver | undefined) => {
    const gone = new AbortController();
    response.once('close', () => {
      if (!response.writableFinished) gone.abort();
    });
    void serve(options, request, response, { told, gone });
  };
  return { serve: begin, listener: (request, response) => begin(request, response, undefined) };
}

async function serve(
  options: DataPlaneOptions,
  request: IncomingMessage,
  response: ServerResponse,
  { told, gone }: { told: HandedOver | undefined; gone: AbortController },
): Promise<void> {
  const { context } = options;
  const { signal } = gone;
  const url = request.url ?? '/';
  const mark = url.indexOf('?');
  const path = mark === -1 ? url : url.slice(0, mark);
  const isPart = takesParts(request, path);
  const isUpload = isPart || path === '/api/fs/put' || path === '/api/fs/form';
  const writeSession = writeSessionOf(request, path);
  endWhenIdle(request, isUpload || writeSession !== undefined);
  try {
    // Requests of our own services are bounded by the limits of those services.
    if (writeSession === undefined) options.transfers.begin(response);
    const call = told ? { ...told, signal } : callOf(options, request, signal);
    if (isPart || (isUpload && request.method === 'PUT')) {
      const isKnown = call.identity?.kind === 'user';
      const identity = isKnown ? call.identity : (await options.callers.establish(request.headers.authorization)).identity;
      const identified = { ...call, identity };
      if (isPart) {
        const query = new URLSearchParams(mark === -1 ? '' : url.slice(mark + 1));
        return await receiveParts(context, options.uploads, request, response, { path, query, call: identified });
      }
      const receive = path === '/api/fs/put' ? receiveRaw : receiveForm;
      return await receive(context, request, response, identified);
    }
    if (writeSession !== undefined) {
      const query = new URLSearchParams(mark === -1 ? '' : url.slice(mark + 1));
      return await receiveRange(options.writes, request, response, { id: writeSession, query, call });
    }
    const download = /^\/([dp])(\/.*)?$/s.exec(path);
    if (download && (request.method === 'GET' || request.method === 'HEAD')) {
      const query = new URLSearchParams(mark === -1 ? '' : url.slice(mark + 1));
      const route = download[1] === 'd' ? 'd' : 'p';
      return await serveDownload(context, request, response, { call, route, path: download[2] ?? '/', query });
    }
    throw new AppError('RECORD_NOT_FOUND', 'not found');
  } catch (thrown) {
    const { cause: error, snapshot } = thrown instanceof UploadFailure ? thrown : { cause: thrown, snapshot: undefined };
    const refusal = AppError.from(foreseen(error));
    if (refusal.code === 'CANCELLED' || signal.aborted) return void response.destroy();
    // Whatever the request still holds, such as a file that was opened and not read.
    gone.abort();
    if (refusal.code === 'INTERNAL') options.logger.error({ err: error, route: isUpload ? path : path.slice(0, 2) }, 'unforeseen error');
    const codes = isPart ? PART_CODES : path === '/api/fs/form' ? FORM_CODES : {};
    if (isUpload) await refuseUpload(context, request, response, refusal, { codes, data: snapshot });
    else refuseDownload(request, response, refusal);
  }
}

function callOf({ tokens }: DataPlaneOptions, request: IncomingMessage, signal: AbortSignal): Call {
  const forwarded = readCallHeaders(tokens, request.headers, signal);
  return forwarded ?? { identity: undefined, requestId: randomUUID(), revisions: { auth: 0, admin: 0 }, signal };
}
