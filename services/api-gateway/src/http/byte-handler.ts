import { Agent, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import { AppError, ERROR_CODES } from '@wharf/errors';
import {
  type ByteServer,
  callHeaders,
  clientOf,
  dropCallHeaders,
  endWhenIdle,
  foreseen,
  forPeople,
  type Identity,
  isTusPath,
  nameError,
  partCodes,
  preflightDownload,
  siteUrlOf,
  type TransferLimit,
  TUS_PATH,
  traceHeaders,
  tusStatus,
} from '@wharf/service-kit';
import type { Access } from '../api/route.ts';
import { BYTE_ROUTES, indexRoutes } from '../api/route-table.ts';
import { failure, requireAccess, splitUrl } from './api-handler.ts';
import type { GatewayParts } from './gateway-parts.ts';
import { dropHopHeaders } from './hop-by-hop.ts';
import { createPassDownload } from './pass-download.ts';
import { createPassUpload, isPlainUpload, notHttp, passPiped } from './pass-upload.ts';
import { beforeRefusal, sendJson, sendText } from './send-answer.ts';

/** What is below it is no status of an answer. */
const LEAST_STATUS = 200;

/** Hands requests for bytes to the data plane of fs; answers undefined for any other request. */
export type ByteHandler = (request: IncomingMessage, response: ServerResponse) => Promise<void> | undefined;

/**
 * Uploads are handed over with the identity of their caller, downloads with our own: their signature says who may read. The body is not
 * touched here.
 */
export function createByteHandler(parts: GatewayParts, dataPlane: ByteServer): ByteHandler {
  const uploads = indexRoutes(BYTE_ROUTES);
  const ourselves: Identity = { kind: 'service', name: parts.kit.name };

  const handOver = (request: IncomingMessage, response: ServerResponse, identity: Identity) => {
    const said = { identity, requestId: parts.scopes.of(request).id, revisions: parts.revisions.current() };
    const call = { ...said, ...clientOf(parts.proxies, request) };
    dataPlane(request as Parameters<RequestListener>[0], response as Parameters<RequestListener>[1], call);
  };
  const answerDownload = async (request: IncomingMessage, response: ServerResponse) => {
    if (request.method === 'OPTIONS') preflightDownload(response);
    else if (request.method === 'GET' || request.method === 'HEAD') handOver(request, response, ourselves);
    else if (await beforeRefusal(request, response)) {
      nameError(response, { code: 'UNSUPPORTED_OPERATION' });
      sendText(response, 405, 'this address is only read\n');
    }
  };
  const takeUpload = async (request: IncomingMessage, response: ServerResponse, { access }: { access: Access }) => {
    parts.cors.allow(request, response);
    try {
      const caller = await parts.callers.establish(request.headers.authorization);
      parts.scopes.of(request).userId = caller.identity.id;
      requireAccess(access, caller);
      handOver(request, response, caller.identity);
    } catch (thrown) {
      await refuseUpload(parts, request, response, thrown);
    }
  };

  const answerTusOptions = async (request: IncomingMessage, response: ServerResponse) => {
    if (request.headers['access-control-request-method'] !== undefined) parts.cors.preflight(request, response);
    else handOver(request, response, ourselves);
  };

  return (request, response) => {
    const { path } = splitUrl(request.url ?? '/');
    if (path.startsWith('/d/') || path.startsWith('/p/')) {
      parts.scopes.of(request).route = `${path.slice(0, 3)}*`;
      return answerDownload(request, response);
    }
    if (isTusPath(path)) {
      parts.scopes.of(request).route = TUS_PATH;
      if (request.method === 'OPTIONS') return answerTusOptions(request, response);
      return takeUpload(request, response, { access: 'guest' });
    }
    const upload = uploads.get(path);
    if (!upload || upload.method !== request.method) return undefined;
    parts.scopes.of(request).route = upload.path;
    return takeUpload(request, response, upload);
  };
}

/** A client of tus reads real statuses; those of the family read envelopes. */
async function refuseUpload(parts: GatewayParts, request: IncomingMessage, response: ServerResponse, thrown: unknown): Promise<void> {
  const scope = parts.scopes.of(request);
  const { path } = splitUrl(request.url ?? '/');
  const envelope = await failure(parts, scope.id, thrown, partCodes(path));
  scope.code = envelope.code;
  const error = AppError.from(forPeople(foreseen(thrown)));
  scope.error = error.code;
  nameError(response, error);
  if (!(await beforeRefusal(request, response))) return;
  if (isTusPath(path)) {
    response.setHeader('Tus-Resumable', '1.0.0');
    sendText(response, tusStatus(request.method, ERROR_CODES[error.code].http), `${envelope.message}\n`);
  } else sendJson(response, JSON.stringify(envelope));
}

/** A request for bytes that has none itself. */
function isPlainDownload({ method, headers }: IncomingMessage): boolean {
  return method === 'GET' && headers['transfer-encoding'] === undefined && headers['content-length'] === undefined;
}

/** An upload, or a call about one; all other requests for bytes are downloads. */
function isByApi({ url = '' }: IncomingMessage): boolean {
  return url.startsWith('/api/');
}

/** A data plane in another process. */
export interface RemoteDataPlane {
  readonly serve: ByteServer;
  /** Closes the connections that are kept for later. */
  close(): void;
}

/**
 * Streams requests to the data plane at `url` and its answers back; a client that goes away is passed on.
 *
 * @param idleMs after which a client of a download is cut off that takes nothing; as at the data plane unless told
 */
export function createRemoteDataPlane(parts: GatewayParts, url: string, transfers: TransferLimit, idleMs?: number): RemoteDataPlane {
  const agent = new Agent({ keepAlive: true });
  const refuse = async (request: IncomingMessage, response: ServerResponse, error: AppError) => {
    if (isByApi(request)) return refuseUpload(parts, request, response, error);
    parts.scopes.of(request).error = error.code;
    nameError(response, error);
    if (await beforeRefusal(request, response)) sendText(response, ERROR_CODES[error.code].http, `${error.message}\n`);
  };
  const onError = async (cause: Error, request: IncomingMessage, response: ServerResponse) => {
    if (response.headersSent || response.destroyed) return void response.destroy();
    parts.kit.logger.warn({ err: cause, requestId: parts.scopes.of(request).id }, 'the data plane cannot be reached');
    await refuse(request, response, new AppError('STORAGE_UNAVAILABLE', 'the file service cannot be reached', { cause }));
  };
  const downloads = createPassDownload(url);
  const passUpload = createPassUpload(url, agent);
  const onThrown = (cause: unknown, request: IncomingMessage, response: ServerResponse) =>
    onError(cause instanceof Error ? cause : new Error(String(cause)), request, response).catch(() => response.destroy());
  const download = async (request: IncomingMessage, response: ServerResponse) => {
    try {
      if (!(await downloads.pass(request, response))) await proxied(request, response);
    } catch (cause) {
      await onThrown(cause, request, response);
    }
  };
  // Loaded only where the data plane is in another process.
  const proxy = import('http-proxy-middleware').then(({ createProxyMiddleware }) =>
    createProxyMiddleware<IncomingMessage, ServerResponse>({
      target: url,
      agent,
      ejectPlugins: true,
      plugins: [
        (server) => {
          // `Connection` concerns only the client and the gateway. After a body of unknown length the connection to the data plane is
          // closed.
          server.on('proxyReq', (outgoing, request, response) => {
            if (!outgoing.hasHeader('transfer-encoding')) outgoing.setHeader('Connection', 'keep-alive');
            // Without a listener, one that switches to another protocol would tell neither an answer nor an error.
            outgoing.once('upgrade', (_answer, socket) => {
              socket.destroy();
              void onThrown(notHttp(), request, response);
            });
          });
          server.on('proxyRes', (answer) => {
            // A status that is none would be thrown where nobody catches it.
            if ((answer.statusCode ?? 0) < LEAST_STATUS) answer.statusCode = ERROR_CODES.STORAGE_UNAVAILABLE.http;
            delete answer.headers.connection;
            delete answer.headers['keep-alive'];
          });
          server.on('error', (cause, request, response) => {
            if (request && response && 'writeHead' in response) void onError(cause, request, response).catch(() => response.destroy());
          });
        },
      ],
    }),
  );
  const proxied = async (request: IncomingMessage, response: ServerResponse) => {
    passPiped(request);
    await (await proxy)(request, response);
  };
  return {
    serve(request, response, call) {
      // Who calls was looked up: the client may have gone meanwhile.
      if (response.destroyed) return;
      try {
        transfers.begin(response, call);
      } catch (error) {
        return void refuse(request, response, AppError.from(error)).catch(() => response.destroy());
      }
      // The data plane does not see who takes nothing of what waits here.
      if (!isByApi(request)) endWhenIdle(response, false, idleMs);
      const siteUrl = siteUrlOf(request, parts.siteUrl, parts.proxies);
      dropCallHeaders(request.headers);
      dropHopHeaders(request.headers);
      // The headers below say who calls, so the token is not passed on.
      delete request.headers.authorization;
      Object.assign(request.headers, callHeaders(parts.kit.tokens, { ...call, siteUrl }), traceHeaders(parts.kit.tracing));
      if (isPlainDownload(request)) void download(request, response);
      else if (isPlainUpload(request))
        passUpload(request, response, (cause) => void onError(cause, request, response).catch(() => response.destroy()));
      else void proxied(request, response).catch((cause: unknown) => onThrown(cause, request, response));
    },
    close() {
      agent.destroy();
      downloads.close();
    },
  };
}
