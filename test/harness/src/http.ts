import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { type IncomingHttpHeaders, type IncomingMessage, type OutgoingHttpHeaders, request } from 'node:http';
import { Readable } from 'node:stream';

export type Bytes = AsyncIterable<Uint8Array> | Iterable<Uint8Array>;

export interface HttpRequest {
  /** Default GET. */
  method?: string;
  /** Sent as it is: not decoded, not encoded, `..` and `//` kept. Characters outside printable ASCII are refused. */
  path: string;
  headers?: OutgoingHttpHeaders;
  /** Without a Content-Length header an iterable is sent in chunked encoding. */
  body?: string | Uint8Array | Bytes;
  signal?: AbortSignal;
  /** Limit for the silence of the connection, default 60,000. */
  idleTimeoutMs?: number;
}

export interface HttpAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  text(): string;
  json(): unknown;
}

/** What passed through a stream. */
export interface Transfer {
  readonly sizeBytes: number;
  /** Lower-case hex. */
  readonly sha256: string;
}

/** Sends one request on a connection of its own and reads the whole answer. Redirects are answers like others. */
export async function httpRequest(base: string, options: HttpRequest): Promise<HttpAnswer> {
  const response = await send(base, options);
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk);
  const body = Buffer.concat(chunks);
  return {
    status: response.statusCode ?? 0,
    headers: response.headers,
    body,
    text: () => body.toString('utf8'),
    json: () => JSON.parse(body.toString('utf8')),
  };
}

/**
 * Reads an answer without keeping it, whatever its status.
 *
 * @param onBytes sees the count after each chunk; a promise it returns holds the stream back. Throwing from it ends the connection.
 */
export async function download(
  base: string,
  options: HttpRequest,
  onBytes?: (receivedBytes: number) => void | Promise<void>,
): Promise<Transfer & { status: number; headers: IncomingHttpHeaders }> {
  const response = await send(base, options);
  const meter = createMeter(onBytes);
  for await (const chunk of response) await meter.add(chunk);
  return { status: response.statusCode ?? 0, headers: response.headers, ...meter.result() };
}

/** Sends a stream as the body (default method PUT) and reads the whole answer. `sent` counts what the connection took. */
export async function upload(
  base: string,
  options: HttpRequest & { body: Bytes },
  onBytes?: (sentBytes: number) => void | Promise<void>,
): Promise<HttpAnswer & { sent: Transfer }> {
  const meter = createMeter(onBytes);
  const body = options.body;
  async function* metered() {
    for await (const chunk of body) {
      yield chunk;
      await meter.add(chunk);
    }
  }
  const answer = await httpRequest(base, { method: 'PUT', ...options, body: metered() });
  return { ...answer, sent: meter.result() };
}

async function send(
  base: string,
  { method = 'GET', path, headers = {}, body, signal, idleTimeoutMs = 60_000 }: HttpRequest,
): Promise<IncomingMessage> {
  const { hostname, port } = new URL(base);
  const outgoing = request({
    host: hostname.replace(/^\[|\]$/g, ''),
    port,
    method,
    path,
    headers,
    agent: false,
    timeout: idleTimeoutMs,
    ...(signal === undefined ? {} : { signal }),
  });
  outgoing.on('timeout', () => outgoing.destroy(new Error(`${method} ${path}: nothing came for ${idleTimeoutMs} ms`)));
  // Before the answer an error rejects `answered`; after it, it also ends the body that is being read.
  outgoing.on('error', () => undefined);
  const answered = once(outgoing, 'response');
  if (body === undefined || typeof body === 'string' || body instanceof Uint8Array) outgoing.end(body);
  else {
    // A server may answer and close before it has read the whole body: its answer counts, not that the rest could not be sent.
    const source = Readable.from(body).on('error', (error) => outgoing.destroy(error));
    outgoing.once('close', () => source.destroy());
    source.pipe(outgoing);
  }
  const [response] = await answered;
  return response;
}

function createMeter(onBytes?: (bytes: number) => void | Promise<void>) {
  const hash = createHash('sha256');
  let sizeBytes = 0;
  return {
    async add(chunk: Uint8Array): Promise<void> {
      hash.update(chunk);
      sizeBytes += chunk.byteLength;
      await onBytes?.(sizeBytes);
    },
    result: (): Transfer => ({ sizeBytes, sha256: hash.copy().digest('hex') }),
  };
}
