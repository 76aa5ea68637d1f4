import type { IncomingMessage, ServerResponse } from 'node:http';
import { AppError, codeMeans, type ErrorCode } from '@wharf/errors';
import {
  counter,
  histogram,
  identify,
  type OpenSpan,
  requestIdOf,
  type ServiceKit,
  type TrustedProxies,
  traceparentOf,
} from '@wharf/service-kit';

/** The facts about one request for the log and the metrics. Never bodies, tokens or query strings. */
export interface RequestScope {
  readonly id: string;
  /** The declared path, never the client's. */
  route: string;
  /** The envelope's code; the HTTP status where there is no envelope. */
  code: number | undefined;
  userId: number | undefined;
  /** The name of the error that was answered. */
  error: ErrorCode | undefined;
  /** Undefined: nobody wants to know. It ends with the request. */
  readonly span: OpenSpan | undefined;
}

export interface RequestScopes {
  /** Begins a request: gives it an id, and tells of it once its answer is over. */
  open(request: IncomingMessage, response: ServerResponse): RequestScope;
  /** The scope of a request that was begun. */
  of(request: IncomingMessage): RequestScope;
}

/** Where a request carries its scope. */
const SCOPE = Symbol('scope');
type Opened = IncomingMessage & { [SCOPE]?: RequestScope };

export function createRequestScopes(kit: Pick<ServiceKit, 'logger' | 'metrics' | 'tracing'>, proxies: TrustedProxies): RequestScopes {
  const requests = counter(kit.metrics, 'http_requests_total');
  const errors = counter(kit.metrics, 'wharf_request_errors_total');
  const durations = histogram(kit.metrics, 'http_request_duration_seconds');
  return {
    open(request, response) {
      const scope: RequestScope = {
        id: requestIdOf(request, proxies),
        route: 'unknown',
        code: undefined,
        userId: undefined,
        error: undefined,
        span: kit.tracing.open('HTTP', { kind: 'server', parent: proxies.isFromProxy(request) ? traceparentOf(request.headers) : '' }),
      };
      const startedAt = performance.now();
      (request as Opened)[SCOPE] = scope;
      identify(response, scope.id);
      const onClose = () => {
        const ms = Math.round((performance.now() - startedAt) * 1000) / 1000;
        const { id: requestId, route, code = response.statusCode, userId, error } = scope;
        requests.inc({ route, code });
        if (error !== undefined) errors.inc({ route, error });
        durations.observe({ route }, ms / 1000);
        const line = { requestId, method: request.method, route, code, ms, userId, error };
        if (error !== undefined && codeMeans(error, 'trouble')) kit.logger.info(line, 'request');
        else kit.logger.debug(line, 'request');
        endSpan(scope, request, response);
      };
      response.once('close', () => (scope.span ? scope.span.run(onClose) : onClose()));
      return scope;
    },
    of(request) {
      const scope = (request as Opened)[SCOPE];
      if (!scope) throw new Error('the request was never opened');
      return scope;
    },
  };
}

/** The address of a request stays out of its span: it names files, and signs links. */
function endSpan(scope: RequestScope, { method = 'GET' }: IncomingMessage, response: ServerResponse): void {
  const { span, route, code, error, id } = scope;
  if (!span) return;
  span.rename(`${method} ${route}`);
  span.tell({
    'http.request.method': method,
    'http.route': route,
    'http.response.status_code': response.statusCode,
    'wharf.code': code,
    'wharf.request_id': id,
  });
  if (error !== undefined) span.fail(new AppError(error, ''));
  else if ((code ?? response.statusCode) >= 500) span.fail(undefined);
  else if (!response.writableFinished) span.fail(new AppError('CANCELLED', ''));
  span.end();
}
