import http, { type IncomingMessage } from 'node:http';
import https from 'node:https';
import { isIP } from 'node:net';
import { AppError } from '@wharf/errors';
import { type EgressPolicy, portOf } from './egress-policy.ts';

/** One request. Redirects are the caller's: each hop goes through `EgressPolicy.parseUrl` again. */
export interface GuardedRequest {
  readonly url: URL;
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  readonly signal?: AbortSignal;
  /** Milliseconds until the connection, with its TLS, stands. Default 15,000. */
  readonly connectTimeoutMs?: number;
  /** Milliseconds from the sent request to the head of the answer. Default 30,000. */
  readonly headersTimeoutMs?: number;
}

/** An HTTP client whose connections all pass the policy. Certificates are verified. */
export interface GuardedClient {
  /**
   * Answers the head; the body is read from the message, or destroyed.
   * @throws AppError PERMISSION_DENIED (the policy) | STORAGE_UNAVAILABLE | DEADLINE_EXCEEDED | CANCELLED
   */
  request(request: GuardedRequest): Promise<IncomingMessage>;
  /** Ends every connection. */
  close(): void;
}

const CONNECT_TIMEOUT_MS = 15_000;
const HEADERS_TIMEOUT_MS = 30_000;
/** Servers that hang up an idle connection after five seconds are common; ours goes first. */
const IDLE_MS = 4_000;

/** Bytes of a body that wait for the receiver, on each connection. */
const BUFFERED_BYTES = 256 * 1024;

/** @param maxConnections to one host at a time. */
export function createGuardedClient(policy: EgressPolicy, maxConnections: number): GuardedClient {
  // What comes while the receiver is busy is handed on in one piece: each piece costs a turn of everything behind.
  const settings = {
    highWaterMark: BUFFERED_BYTES,
    keepAlive: true,
    maxSockets: maxConnections,
    maxFreeSockets: maxConnections,
    timeout: IDLE_MS,
  };
  const agents = { 'http:': new http.Agent(settings), 'https:': new https.Agent(settings) };
  return {
    request: (request) => send(policy, agents, request),
    close() {
      agents['http:'].destroy();
      agents['https:'].destroy();
    },
  };
}

function send(
  policy: EgressPolicy,
  agents: { 'http:': http.Agent; 'https:': https.Agent },
  options: GuardedRequest,
): Promise<IncomingMessage> {
  const { url, signal } = options;
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  if (signal?.aborted) return Promise.reject(cancelled(signal));
  const isTls = url.protocol === 'https:';
  const request = (isTls ? https : http).request({
    protocol: url.protocol,
    host: url.hostname.replace(/^\[(.*)\]$/, '$1'),
    port: portOf(url),
    path: `${url.pathname}${url.search}`,
    ...(url.username === '' ? {} : { auth: `${decoded(url.username)}:${decoded(url.password)}` }),
    method: options.method ?? 'GET',
    headers: { ...options.headers, Host: url.host },
    agent: isTls ? agents['https:'] : agents['http:'],
    lookup: policy.lookupFor(portOf(url)),
  });
  const fail = (error: unknown) => {
    reject(AppError.is(error) ? error : new AppError('STORAGE_UNAVAILABLE', describe(error, url), { cause: error }));
    request.destroy();
  };
  let timer = setTimeout(
    () => fail(new AppError('DEADLINE_EXCEEDED', `${url.host} could not be connected to in time`)),
    options.connectTimeoutMs ?? CONNECT_TIMEOUT_MS,
  );
  const onAbort = () => fail(cancelled(signal));
  signal?.addEventListener('abort', onAbort, { once: true });
  const waitForHead = () => {
    clearTimeout(timer);
    timer = setTimeout(
      () => fail(new AppError('DEADLINE_EXCEEDED', `${url.host} did not answer in time`)),
      options.headersTimeoutMs ?? HEADERS_TIMEOUT_MS,
    );
  };
  // A literal address is connected to without a lookup, so it is looked at here.
  const checked = isLiteral(url) ? policy.resolve(url.hostname, portOf(url)) : Promise.resolve([]);
  checked.then(
    () => {
      request.once('socket', (socket) => {
        if (!socket.connecting) waitForHead();
        else socket.once(isTls ? 'secureConnect' : 'connect', waitForHead);
      });
      request.once('response', (response) => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', onAbort);
        resolve(response);
      });
      request.end(options.body);
    },
    (error) => fail(error),
  );
  request.on('error', fail);
  return promise.finally(() => {
    clearTimeout(timer);
    signal?.removeEventListener('abort', onAbort);
  });
}

function isLiteral(url: URL): boolean {
  return isIP(url.hostname.replace(/^\[(.*)\]$/, '$1')) !== 0;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function cancelled(signal: AbortSignal | undefined): AppError {
  const reason: unknown = signal?.reason;
  return AppError.is(reason) ? reason : new AppError('CANCELLED', 'cancelled');
}

/** What a person needs to know; addresses and the system's texts stay in the cause. */
function describe(error: unknown, url: URL): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  if (code === 'ECONNREFUSED') return `${url.host} refuses connections`;
  if (code === 'ECONNRESET' || code === 'EPIPE') return `${url.host} closed the connection`;
  if (/CERT|SIGNATURE|SELF_SIGNED|ALTNAME/.test(code)) return `the certificate of ${url.host} is not valid`;
  return `${url.host} cannot be reached`;
}
