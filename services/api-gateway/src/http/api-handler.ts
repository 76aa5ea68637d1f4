import type { IncomingMessage, ServerResponse } from 'node:http';
import { isDeepStrictEqual } from 'node:util';
import { AppError } from '@wharf/errors';
import { createPace, forOwner } from '@wharf/pace';
import { ROLE } from '@wharf/rights';
import {
  type Caller,
  type Envelope,
  type EnvelopeCodes,
  failureEnvelope,
  foreseen,
  forPeople,
  nameError,
  sayWhenToComeAgain,
  shareKeyOf,
  siteUrlOf,
  successEnvelope,
} from '@wharf/service-kit';
import { openApiDocument } from '../api/openapi.ts';
import { type Access, AnswerWithMessage, type Route } from '../api/route.ts';
import { answersMethod, BYTE_ROUTES, EVENT_ROUTES, indexRoutes, ROUTES } from '../api/route-table.ts';
import { requirePermission } from '../domain/permissions.ts';
import type { GatewayParts } from './gateway-parts.ts';
import { readBody, turnsOf } from './read-body.ts';
import { RequestContext } from './request-context.ts';
import { beforeRefusal, sendJson, sendPieces } from './send-answer.ts';
import { writeJson } from './write-json.ts';

export const OPENAPI_PATH = '/api/openapi.json';

/** Who asked is established once more for what is answered so much later, in milliseconds. */
const LATE_MS = 2_000;

const NO_SUCH_ROUTE = { code: 'RECORD_NOT_FOUND', envelope: { code: 404, message: 'there is no such route', data: null } } as const;
const NO_SUCH_METHOD = {
  code: 'UNSUPPORTED_OPERATION',
  envelope: { code: 405, message: 'this route does not answer this method', data: null },
} as const;

/** A proxy that tells us neither the host nor the scheme of its own makes our own page look so. */
const FOREIGN_PAGE = 'pages of this origin may not call the API: name it in WHARF_CORS_ORIGINS, or our own address in WHARF_SITE_URL';

/** Answers every request under /api, except those for bytes. */
export function createApiHandler(parts: GatewayParts): (request: IncomingMessage, response: ServerResponse) => Promise<void> {
  const routes = indexRoutes(ROUTES);
  const bytePaths = indexRoutes(BYTE_ROUTES);
  let document: Uint8Array | undefined;

  const refuse = async (request: IncomingMessage, response: ServerResponse, thrown: unknown, route: Route, isAllowed: boolean) => {
    const scope = parts.scopes.of(request);
    const error = AppError.from(forPeople(foreseen(thrown)));
    const envelope = await failure(parts, scope.id, thrown, route.codes, isAllowed ? route.failureData?.of(error) : undefined);
    scope.code = envelope.code;
    scope.error = error.code;
    sayWhenToComeAgain(response, error);
    nameError(response, error);
    if (await beforeRefusal(request, response)) sendJson(response, JSON.stringify(envelope));
  };

  const establish = async (request: IncomingMessage, { access, isReading }: Route) => {
    if (access === 'public') return undefined;
    const caller = await parts.callers.establish(request.headers.authorization, { isReading: isReading === true });
    parts.scopes.of(request).userId = caller.identity.id;
    requireAccess(access, caller);
    return caller;
  };

  return async (request, response) => {
    parts.cors.allow(request, response);
    const method = request.method ?? 'GET';
    if (method === 'OPTIONS') return parts.cors.preflight(request, response);
    const { path, query } = splitUrl(request.url ?? '/');
    const scope = parts.scopes.of(request);
    const route = routes.get(path);
    if (!route || !answersMethod(route, method)) {
      if (path === OPENAPI_PATH && (method === 'GET' || method === 'HEAD')) {
        scope.route = OPENAPI_PATH;
        // As bytes it is one for all connections. A text would be copied for each that takes it slowly.
        document ??= Buffer.from(JSON.stringify(openApiDocument(ROUTES, BYTE_ROUTES, EVENT_ROUTES)));
        return sendJson(response, document);
      }
      const isKnown = route !== undefined || bytePaths.has(path) || path === OPENAPI_PATH;
      const { code, envelope } = isKnown ? NO_SUCH_METHOD : NO_SUCH_ROUTE;
      scope.code = envelope.code;
      nameError(response, { code });
      if (await beforeRefusal(request, response)) sendJson(response, JSON.stringify(envelope));
      return;
    }
    scope.route = route.path;
    let isAllowed = false;
    try {
      const admit = async () => {
        isAllowed = false;
        const admitted = await establish(request, route);
        isAllowed = true;
        if (admitted) requirePermission(admitted.identity, route.permission);
        return admitted;
      };
      // The right to call is checked first: the body of a caller without the right is not read.
      const hasBody = method !== 'GET' && method !== 'HEAD';
      if (hasBody && parts.cors.isForeign(request, siteUrlOf(request, parts.siteUrl, parts.proxies)))
        throw new AppError('PERMISSION_DENIED', FOREIGN_PAGE);
      let caller = await admit();
      const isBodyToCome = hasBody && !request.complete;
      const { refusal } = route;
      const address = parts.proxies.clientAddress(request);
      const hold = parts.held.of(response, caller, address);
      const holdMade = parts.made.of(response, caller, address);
      const owner = shareKeyOf({ identity: caller?.identity, address });
      const turns = turnsOf(request, owner);
      const reading = { turns, isNeeded: route.takes === 'body', refusal, hold, holdMade };
      const body = hasBody ? await forOwner(owner, () => readBody(request, reading)) : ({ kind: 'none' } as const);
      await turns.come(query.length);
      const call = route.prepare({ query, body });
      // Whoever sends it slowly, or much, may have been logged out meanwhile, or have other rights.
      if (isBodyToCome || turns.haveCome()) caller = await admit();
      const context = new RequestContext(parts, request, response, caller, hold);
      const beganAtMs = performance.now();
      const { envelope, pieces } = await forOwner(owner, () => answer(parts, call, context, caller));
      // What waited at a storage is read when its turn comes: nobody sees what has come after their login has ended.
      if (route.isReading && performance.now() - beganAtMs >= LATE_MS) requireSame(await admit(), caller);
      hold(pieces.reduce((sum, piece) => sum + piece.length, 0));
      scope.code = envelope.code;
      await sendPieces(response, pieces);
    } catch (thrown) {
      await refuse(request, response, thrown, route, isAllowed);
    }
  };
}

/** What a call answers, as text in pieces. */
async function answer({ calls }: GatewayParts, call: ReturnType<Route['prepare']>, context: RequestContext, caller: Caller | undefined) {
  const result = await calls.during(
    caller,
    context.address,
    async () => call(context),
    () => context.end(),
  );
  const envelope = result instanceof AnswerWithMessage ? successEnvelope(result.data, result.message) : successEnvelope(result);
  return { envelope, pieces: await writeJson(envelope, createPace()) };
}

/** @throws AppError OVERLOADED: who asked has another root or other rights since; whoever asks again is answered by those */
function requireSame(now: Caller | undefined, before: Caller | undefined): void {
  if (isDeepStrictEqual(now?.identity, before?.identity)) return;
  throw new AppError('OVERLOADED', 'your rights were changed meanwhile, try again');
}

/** The path of a request as it came, and its query without the question mark. */
export function splitUrl(url: string): { path: string; query: string } {
  const mark = url.indexOf('?');
  return mark < 0 ? { path: url, query: '' } : { path: url.slice(0, mark), query: url.slice(mark + 1) };
}

/** @throws AppError PERMISSION_DENIED with the family's texts */
export function requireAccess(access: Access, caller: Caller | undefined): void {
  if (access === 'admin' && caller?.identity.role !== ROLE.admin) throw new AppError('PERMISSION_DENIED', 'You are not an admin');
  if (access === 'user' && caller?.identity.role === ROLE.guest) throw new AppError('PERMISSION_DENIED', 'You are a guest');
}

/** The envelope for a thrown error. An unforeseen error is logged here, once. */
export async function failure(
  parts: GatewayParts,
  requestId: string,
  thrown: unknown,
  codes?: EnvelopeCodes,
  data?: unknown,
): Promise<Envelope> {
  const error = forPeople(foreseen(thrown));
  if (!AppError.is(error)) parts.kit.logger.error({ err: error, requestId }, 'unforeseen error');
  const envelope = failureEnvelope(AppError.from(error), { codes, data });
  return { ...envelope, message: await parts.mask(envelope.message) };
}
