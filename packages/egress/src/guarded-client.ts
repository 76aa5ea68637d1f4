import http from 'node:http';
import https from 'node:https';
import { isIP } from 'node:net';
import { AppError, type ErrorCode } from '@wharf/errors';
import { boundAnswer } from '@wharf/pace';
import type { Answer, AskedRequest, RequestBody } from './asked-request.ts';
import { createBulkConnections } from './bulk-connections.ts';
import { type EgressPolicy, hostOf, portOf } from './egress-policy.ts';
import { trustBeside } from './trust.ts';

/** One request. Redirects are the caller's: each hop goes through `EgressPolicy.parseUrl` again. */
export interface GuardedRequest {
  readonly url: URL;
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** A body in pieces is sent chunked, unless the headers have a Content-Length. */
  readonly body?: RequestBody | undefined;
  /** Ends the request, and an answer that has begun: what reads its body fails. */
  readonly signal?: AbortSignal | undefined;
  /** Milliseconds until the connection, with its TLS, stands. Default 15,000. */
  readonly connectTimeoutMs?: number;
  /** Milliseconds from the sent request, its body included, to the head of the answer; so long a request waits for a connection, too. Default 30,000. */
  readonly headersTimeoutMs?: number;
  /** A GET whose answer is big: where the server says how long, its body comes for a fraction of the processor time, in pieces that are lent. */
  readonly isBulk?: boolean;
}

/** An HTTP client whose connections all pass the policy. Certificates are verified, unless it was made not to. */
export interface GuardedClient {
  /**
   * Answers the head; the body is read from the message, or destroyed.
   * @throws AppError PERMISSION_DENIED (the policy) | STORAGE_UNAVAILABLE | DEADLINE_EXCEEDED | CANCELLED
   */
  request(request: GuardedRequest): Promise<Answer>;
  /** Ends every connection. */
  close(): void;
}

const CONNECT_TIMEOUT_MS = 15_000;
const HEADERS_TIMEOUT_MS = 30_000;
/** Servers that hang up an idle connection after five seconds are common; ours goes first. */
const IDLE_MS = 4_000;

/** Bytes of a body that wait for the receiver, on each connection. */
const BUFFERED_BYTES = 256 * 1024;

export interface GuardedClientOptions {
  /** To one host at a time; bulk requests open one each, as many as there are at a time. */
  readonly maxConnections: number;
  /** False: a server may show any certificate. Not for bulk requests. */
  readonly verifiesTls?: boolean;
  /** PEM: trusted beside the public authorities, of a server itself or of who signed it. */
  readonly certificate?: string | undefined;
}

interface Agents {
  readonly 'http:': http.Agent;
  readonly 'https:': https.Agent;
}

export function createGuardedClient(
  policy: EgressPolicy,
  { maxConnections, verifiesTls = true, certificate }: GuardedClientOptions,
): GuardedClient {
  const trust = certificate === undefined ? {} : { secureContext: trustBeside(certificate) };
  // What comes while the receiver is busy is handed on in one piece: each piece costs a turn of everything behind.
  const settings = {
    highWaterMark: BUFFERED_BYTES,
    keepAlive: true,
    maxFreeSockets: maxConnections,
    timeout: IDLE_MS,
  };
  const agentsOf = (maxSockets: number): Agents => ({
    'http:': new http.Agent({ ...settings, maxSockets }),
    'https:': new https.Agent({ ...settings, ...trust, maxSockets, rejectUnauthorized: verifiesTls }),
  });
  const agents = agentsOf(maxConnections);
  /** For bulk requests that are left to Node's client: who takes such an answer slowly would hold a connection of those for all other requests. */
  const bulkAgents = agentsOf(Number.POSITIVE_INFINITY);
  const bulk = createBulkConnections((url) => policy.lookupFor(portOf(url)), IDLE_MS, trust);
  return {
    request: (request) =>
      guard(policy, request, async (asked) => {
        const answer = request.isBulk && verifiesTls ? await bulk.ask(asked) : undefined;
        return answer ?? send(policy, request.isBulk ? bulkAgents : agents, asked);
      }),
    close() {
      for (const agent of [agents, bulkAgents].flatMap((each) => Object.values(each))) agent.destroy();
      bulk.close();
    },
  };
}

/** Checks the address, and gives a request its limits of time and the words of its errors. */
async function guard(policy: EgressPolicy, options: GuardedRequest, ask: (asked: AskedRequest) => Promise<Answer>): Promise<Answer> {
  const { url, signal } = options;
  if (signal?.aborted) throw cancelled(signal);
  const stop = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  let isOver = false;
  /** What is waited for next, and how its lateness is told. */
  const limit = (ms: number, code: ErrorCode, message: string) => {
    clearTimeout(timer);
    // The end of a body may be seen after its answer.
    if (isOver) return;
    timer = setTimeout(() => stop.abort(new AppError(code, message)), ms);
  };
  const { connectTimeoutMs = CONNECT_TIMEOUT_MS, headersTimeoutMs = HEADERS_TIMEOUT_MS } = options;
  const onAbort = () => stop.abort(cancelled(signal));
  signal?.addEventListener('abort', onAbort, { once: true });
  limit(headersTimeoutMs, 'OVERLOADED', `all connections to ${url.host} are in use, try again in a moment`);
  try {
    // A literal address is connected to without a lookup, so it is looked at here.
    if (isIP(hostOf(url)) !== 0) await policy.resolve(url.hostname, portOf(url));
    const answer = await ask({
      url,
      method: options.method ?? 'GET',
      headers: { ...authorizationOf(url), ...options.headers, Host: url.host },
      body: options.body,
      signal: stop.signal,
      onConnecting: () => limit(connectTimeoutMs, 'DEADLINE_EXCEEDED', `${url.host} could not be connected to in time`),
      onConnected: () => clearTimeout(timer),
      onSent: () => limit(headersTimeoutMs, 'DEADLINE_EXCEEDED', `${url.host} did not answer in time`),
    });
    if (signal) endWith(signal, answer);
    return answer;
  } catch (error) {
    if (stop.signal.aborted) throw stop.signal.reason;
    if (error instanceof BodyFailure) throw error.cause;
    throw AppError.is(error) ? error : new AppError('STORAGE_UNAVAILABLE', describe(error, url), { cause: error });
  } finally {
    isOver = true;
    clearTimeout(timer);
    signal?.removeEventListener('abort', onAbort);
  }
}

/** A server that falls silent after the head holds nobody who has gone. */
function endWith(signal: AbortSignal, answer: Answer): void {
  const end = () => answer.destroy(cancelled(signal));
  if (signal.aborted) return void end();
  signal.addEventListener('abort', end, { once: true });
  answer.once('close', () => signal.removeEventListener('abort', end));
}

function send(
  policy: EgressPolicy,
  agents: Agents,
  { url, method, headers, body, signal, onConnecting, onConnected, onSent }: AskedRequest,
): Promise<Answer> {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  const isTls = url.protocol === 'https:';
  const request = (isTls ? https : http).request({
    protocol: url.protocol,
    host: hostOf(url),
    port: portOf(url),
    path: `${url.pathname}${url.search}`,
    method,
    headers,
    agent: isTls ? agents['https:'] : agents['http:'],
    lookup: policy.lookupFor(portOf(url)),
  });
  const stop = () => {
    const stopped = new Error('stopped');
    request.destroy(stopped);
    // One that waits for a connection tells of its end when it would have its turn.
    reject(stopped);
  };
  signal.addEventListener('abort', stop, { once: true });
  if (signal.aborted) stop();
  const progress = { isAnswered: false, leftBytes: 0 };
  const length = headers['Content-Length'];
  // The end of a body in pieces may be told after its last byte has left.
  const hasLeft = () => request.writableFinished || (length !== undefined && progress.leftBytes === Number(length));
  let answered: (() => void) | undefined;
  boundAnswer(request, url, reject);
  request.once('response', (answer) => {
    answered = () => resolve(Object.assign(answer, { isEarly: !hasLeft() }));
    // Over TLS Node may tell that bytes have left a turn later than what they are answered with.
    if (hasLeft()) answered();
    else setImmediate(answered);
  });
  request.on('error', (error) => (answered ? answered() : reject(error)));
  // Node ends a request that is answered with 101, and tells neither an answer nor an error.
  request.once('close', () => {
    if (!progress.isAnswered) reject(Object.assign(new Error('closed without an answer'), { code: 'ECONNRESET' }));
  });
  const connected = new Promise<void>((begin) => {
    request.once('socket', (socket) => {
      onConnecting?.();
      if (!socket.connecting) begin();
      else socket.once(isTls ? 'secureConnect' : 'connect', begin);
    });
  }).then(onConnected);
  request.once('response', (answer) => {
    progress.isAnswered = true;
    // An answer that came before the end of the request's body ends that body: its memory is used for other things then. The connection cannot be used
    // again.
    answer.once('close', () => {
      if (!request.writableFinished) request.destroy();
    });
  });
  if (body === undefined || typeof body === 'string' || body instanceof Uint8Array) {
    request.end(body);
    void connected.then(onSent);
  } else {
    connected.then(() => sendBody(request, body, progress)).then(onSent, reject);
  }
  return promise.finally(() => signal.removeEventListener('abort', stop));
}

/** The source of a body failed: its error is the caller's own. */
class BodyFailure extends Error {}

/** Passes a body on as fast as the server takes it. @throws BodyFailure */
async function sendBody(
  request: http.ClientRequest,
  body: AsyncIterable<Uint8Array>,
  progress: { readonly isAnswered: boolean; leftBytes: number },
): Promise<void> {
  try {
    for await (const piece of body) {
      if (progress.isAnswered) return;
      // A piece is only lent: the next one is asked for when this one has left the process.
      await new Promise<void>((resolve) => {
        request.once('close', resolve);
        request.write(piece, (error) => {
          if (!error) progress.leftBytes += piece.byteLength;
          request.off('close', resolve);
          resolve();
        });
      });
      if (request.destroyed) return;
    }
    request.end();
  } catch (cause) {
    request.destroy();
    throw new BodyFailure('the source of the body failed', { cause });
  }
}

/** The user and password of an address, as Basic authentication. */
function authorizationOf(url: URL): { Authorization?: string } {
  if (url.username === '') return {};
  return { Authorization: `Basic ${Buffer.from(`${decoded(url.username)}:${decoded(url.password)}`).toString('base64')}` };
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

/** The message says what a person needs to know. Addresses and the system's texts stay in the cause. */
function describe(error: unknown, url: URL): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  if (code === 'ECONNREFUSED') return `${url.host} refuses connections`;
  if (code === 'ECONNRESET' || code === 'EPIPE') return `${url.host} closed the connection`;
  if (/CERT|SIGNATURE|SELF_SIGNED|ALTNAME/.test(code)) return `the certificate of ${url.host} is not valid`;
  return `${url.host} cannot be reached`;
}
