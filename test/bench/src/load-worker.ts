// Sends the requests of one job at a time over kept connections and times them.
import { lookup } from 'node:dns';
import { once } from 'node:events';
import { Agent, type ClientRequest, type IncomingMessage, request } from 'node:http';
import { parentPort } from 'node:worker_threads';
import { type BulkConnections, createBulkConnections } from '@wharf/egress';
import type { LoadJob, LoadResult } from './load.ts';

const CHUNK = Buffer.alloc(1024 * 1024, 'wharf benchmark ');
/** Answers of at least so many bytes are read into buffers that are used again: Node's client takes half a second of a processor for a GiB, from the server too. */
const BIG_BYTES = 1024 * 1024;
/** A server that is silent for so long has failed. */
const IDLE_TIMEOUT_MS = 60_000;

parentPort?.on('message', (job: LoadJob) => {
  void run(job).then((result) => parentPort?.postMessage(result));
});

async function run(job: LoadJob): Promise<LoadResult> {
  const agent = new Agent({ keepAlive: true, maxSockets: job.connections, scheduling: 'fifo' });
  const bulk = createBulkConnections(() => lookup, IDLE_TIMEOUT_MS, { pieceBytes: BIG_BYTES });
  const isBig = job.method === 'GET' && (job.expect.sizeBytes ?? 0) >= BIG_BYTES;
  const times: number[] = [];
  let issued = 0;
  let bodyBytes = 0;
  let failure: string | undefined;
  const startedAt = performance.now();
  const connection = async () => {
    while (issued < job.requests && failure === undefined && performance.now() - startedAt < job.limitMs) {
      const turn = issued;
      issued += 1;
      const sentAt = performance.now();
      const asked = requestOf(job, turn);
      bodyBytes += isBig ? await receive(bulk, asked) : await exchange(agent, asked, bodyOf(job, turn));
      times.push(performance.now() - sentAt);
    }
  };
  try {
    await Promise.all(Array.from({ length: job.connections }, connection));
  } catch (error) {
    failure = error instanceof Error ? error.message : String(error);
  }
  const elapsedMs = performance.now() - startedAt;
  agent.destroy();
  bulk.close();
  times.sort((left, right) => left - right);
  const result = { requests: times.length, elapsedMs, p50Ms: quantile(times, 0.5), p99Ms: quantile(times, 0.99), bodyBytes };
  return failure === undefined ? result : { ...result, failure };
}

type OneRequest = Pick<LoadJob, 'base' | 'method' | 'expect'> & { path: string; headers: Record<string, string> };

/** What is asked in this turn. */
function requestOf({ base, method, path, headers, expect }: LoadJob, turn: number): OneRequest {
  const numbered = (text: string) => text.replace('{n}', String(turn));
  return {
    base,
    method,
    expect,
    path: numbered(typeof path === 'string' ? path : (path[turn % path.length] ?? '')),
    headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, numbered(value)])),
  };
}

function bodyOf({ body }: LoadJob, turn: number): string | number | undefined {
  return typeof body === 'object' ? body[turn % body.length] : body;
}

/** One request and its whole answer. Answers the bytes of both bodies; throws when the answer is not the expected one. */
async function exchange(
  agent: Agent,
  { base, method, path, headers, expect }: OneRequest,
  body: string | number | undefined,
): Promise<number> {
  const { hostname, port } = new URL(base);
  const length = typeof body === 'string' ? Buffer.byteLength(body) : (body ?? 0);
  const allHeaders = body === undefined ? headers : { ...headers, 'content-length': length };
  const outgoing = request({ agent, host: hostname, port, method, path, headers: allHeaders, timeout: IDLE_TIMEOUT_MS });
  outgoing.on('timeout', () => outgoing.destroy(new Error(`${method} ${path}: silence`)));
  const answered = new Promise<IncomingMessage>((resolve, reject) => outgoing.once('response', resolve).once('error', reject));
  if (typeof body === 'number') {
    // Its failure is that of the answer too.
    sendBytes(outgoing, body).catch(() => undefined);
  } else outgoing.end(body);
  const response = await answered;
  let receivedBytes = 0;
  let first: Buffer | undefined;
  await new Promise<void>((resolve, reject) => {
    response.on('data', (chunk: Buffer) => {
      first ??= chunk;
      receivedBytes += chunk.length;
    });
    response.once('end', resolve).once('error', reject);
  });
  requireExpected({ method, path, expect }, receivedBytes, response.statusCode, beginOf(first));
  return receivedBytes + length;
}

/** The same for a big answer. */
async function receive(bulk: BulkConnections, { base, method, path, headers, expect }: OneRequest): Promise<number> {
  const url = new URL(path, base);
  const signal = AbortSignal.timeout(IDLE_TIMEOUT_MS);
  const answer = await bulk.ask({
    url,
    method,
    headers: { ...headers, host: url.host },
    body: undefined,
    signal,
    onConnected: () => undefined,
    onSent: () => undefined,
  });
  if (answer === undefined) throw new Error(`${method} ${path} answered without a length`);
  let receivedBytes = 0;
  let begin: string | undefined;
  for await (const piece of answer) {
    begin ??= beginOf(piece);
    receivedBytes += piece.byteLength;
  }
  requireExpected({ method, path, expect }, receivedBytes, answer.statusCode, begin);
  return receivedBytes;
}

function beginOf(piece: Uint8Array = new Uint8Array()): string {
  return Buffer.from(piece.subarray(0, 300)).toString('latin1');
}

function requireExpected(
  { method, path, expect }: Pick<OneRequest, 'method' | 'path' | 'expect'>,
  receivedBytes: number,
  statusCode = 0,
  begin = '',
): void {
  if (statusCode < 200 || statusCode > 299 || !begin.startsWith(expect.prefix ?? ''))
    throw new Error(`${method} ${path} answered ${statusCode} ${begin}`);
  if (expect.sizeBytes !== undefined && receivedBytes !== expect.sizeBytes)
    throw new Error(`${method} ${path} answered ${receivedBytes} bytes instead of ${expect.sizeBytes}`);
}

async function sendBytes(outgoing: ClientRequest, sizeBytes: number): Promise<void> {
  for (let left = sizeBytes; left > 0; left -= CHUNK.length)
    if (!outgoing.write(left < CHUNK.length ? CHUNK.subarray(0, left) : CHUNK)) await once(outgoing, 'drain');
  outgoing.end();
}

/** By nearest rank, of sorted values. */
function quantile(sorted: readonly number[], share: number): number {
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? 0;
}
