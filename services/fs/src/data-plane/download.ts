import type { IncomingMessage, ServerResponse } from 'node:http';
import { extname } from 'node:path';
import { AppError } from '@wharf/errors';
import { baseName, type MountPath, parseVirtualPath, type VirtualPath } from '@wharf/paths';
import { type Call, nameError, plainAddress } from '@wharf/service-kit';
import { LRUCache } from 'lru-cache';
import { contentType } from 'mime-types';
import { type FsContext, linkOptionsOf } from '../context.ts';
import { RENEW_MS } from '../domain/changing/operations/rights-of-now.ts';
import type { Located } from '../domain/mounts/mount-table.ts';
import type { Mount } from '../domain/mounts/mounts.ts';
import { etagOf, tellsChanges } from '../domain/reading/etag.ts';
import {
  canProxy,
  directLink,
  downProxyUrl,
  forwardParameters,
  hasThumbnail,
  isPicture,
  needsSign,
  shouldProxy,
} from '../domain/reading/links.ts';
import { locate, type Snapshot } from '../domain/snapshot/snapshot.ts';
import { type CallOptions, type Entry, type StorageDriver, supports } from '../driver-contract/storage-driver.ts';
import type { AccelAddress } from './accel-redirect.ts';
import { lookAtFile } from './look-at-file.ts';
import { evaluatePreconditions, isRangeCurrent } from './preconditions.ts';
import { type BodyPlan, lengthOf, planBody, type Range, rangesOf, singleRange } from './ranges.ts';
import { sendContent } from './send-content.ts';
import { type Admission, serveThumbnail } from './serve-thumbnail.ts';

/** Headers that make the answer depend on what the file is like. */
const CONDITIONS = ['if-match', 'if-none-match', 'if-modified-since', 'if-unmodified-since'] as const;
/** What becomes of a range that is opened without a look and then needs one: it is behind the end, of a file that changes, or of one that has no ranges. */
const NEED_A_LOOK = ['RANGE_NOT_SATISFIABLE', 'STALE_VERSION', 'UNSUPPORTED_OPERATION'] as const;
/** How often a file is looked at again that is replaced between the look and the opening. */
const MAX_LOOKS = 3;

export interface DownloadRequest {
  readonly call: Call;
  readonly route: 'd' | 'p';
  /** Percent-encoded, of the whole tree. */
  readonly path: string;
  readonly query: URLSearchParams;
  /** Undefined: no proxy takes files by itself. */
  readonly accelAddress: AccelAddress | undefined;
}

/** Until when a file is sent, and to whom: the address of the client, where the gateway tells it. */
type DownloadCall = CallOptions & { readonly signal: AbortSignal } & Admission;

/** `GET` and `HEAD` of `/d/<path>` and `/p/<path>`: the right to read is in the signature of the link. */
export async function serveDownload(
  context: FsContext,
  request: IncomingMessage,
  response: ServerResponse,
  asked: DownloadRequest,
): Promise<void> {
  const snapshot = await context.configuration.knownSnapshot(asked.call.revisions);
  const path = parseVirtualPath(decodePath(asked.path));
  const sign = asked.query.get('sign') ?? '';
  const located = authorise(snapshot, path, sign);
  const beganAtMs = performance.now();
  const mayAnswer = async () => {
    if (performance.now() - beganAtMs < RENEW_MS) return;
    authorise(await context.configuration.knownSnapshot(asked.call.revisions), path, sign);
  };
  const name = baseName(path);
  if (name === undefined || snapshot.table.findVirtualFolder(path)) throw new AppError('IS_A_DIRECTORY', 'not a file');
  const { signal, address, isFromProxy } = asked.call;
  const call = { signal, caller: address === undefined ? undefined : plainAddress(address), mayAnswer };
  if (asked.query.get('type') === 'thumb') {
    const offered = { isPicture: isPicture(snapshot, name), isThere: (entry: Entry) => hasThumbnail(snapshot, located.mount, entry) };
    if (await serveThumbnail(context.thumbnails, located, offered, request, response, call)) return;
  }
  const driver = await located.mount.driver();
  await mayAnswer();
  if (asked.route === 'p' && !canProxy(snapshot, located.mount, name, driver)) throw new AppError('PERMISSION_DENIED', 'proxy not allowed');
  const elsewhere = asked.query.has('d') ? undefined : downProxyUrl(snapshot, located.mount, path);
  if (elsewhere !== undefined && (asked.route === 'p' || shouldProxy(snapshot, located.mount, name))) return redirect(response, elsewhere);
  const isDirect = asked.route === 'd' && !shouldProxy(snapshot, located.mount, name);
  const direct = isDirect ? await directLink(context.links, driver, located, path, linkOptionsOf(asked.call)) : undefined;
  if (direct) await mayAnswer();
  if (direct) return redirect(response, forwardParameters(snapshot, direct.url, asked.query));
  const { accelAddress } = asked;
  if (isFromProxy && accelAddress && (await handOver(driver, located, name, request, response, call, accelAddress))) return;
  await sendFile(driver, located, name, request, response, call);
}

/** Checks the signature before anything about the path is told. @throws AppError UNAUTHENTICATED | MOUNT_NOT_FOUND */
function authorise(snapshot: Snapshot, path: VirtualPath, sign: string): Located<Mount> {
  const located = snapshot.table.locate(path);
  if (needsSign(snapshot, located?.mount, path)) snapshot.signer.verify(path, sign);
  return located ?? locate(snapshot, path);
}

async function sendFile(
  driver: StorageDriver,
  { path }: Located<Mount>,
  name: string,
  request: IncomingMessage,
  response: ServerResponse,
  call: DownloadCall,
): Promise<void> {
  const next = isPlain(request) ? 'whole' : await sendRange(driver, path, name, request, response, call);
  if (next === 'whole') return sendWhole(driver, path, name, response, call);
  if (next === 'end') return;
  for (let look = 1; ; look += 1) {
    const entry = await lookAtFile(driver, path, call).catch(asNoFile);
    await call.mayAnswer();
    if (entry.isDirectory) throw new AppError('IS_A_DIRECTORY', 'not a file');
    const etag = etagOf(entry);
    const headers = fileHeaders(entry, name, etag);
    const verdict = evaluatePreconditions(request.headers, etag, entry.modifiedAt);
    if (verdict === 'failed') nameError(response, { code: 'STALE_VERSION' });
    if (verdict === 'failed' || (verdict === 'not-modified' && tellsChanges(entry)))
      return void response.writeHead(verdict === 'failed' ? 412 : 304, headers).end();

    if (entry.sizeBytes === undefined) {
      // No range can be counted in it.
      if (request.method !== 'HEAD') return sendWhole(driver, path, name, response, call);
      return void response.writeHead(200, headers).end();
    }
    const ranges = rangesFor(request, entry.sizeBytes, entry, etag);
    if (ranges === 'unsatisfiable') return refuseRange(response, headers, entry.sizeBytes);
    const plan = planBody(ranges, entry.sizeBytes, headers['Content-Type'] ?? '');
    const begin = () => response.writeHead(plan.status, { ...headers, ...plan.headers });
    if (request.method === 'HEAD') return void begin().end();
    try {
      await sendParts(driver, path, plan, etag, begin, response, call);
      return void response.end(plan.epilogue);
    } catch (error) {
      if (!AppError.is(error, 'STALE_VERSION') || response.headersSent || look === MAX_LOOKS) throw error;
    }
  }
}

/**
 * Tells a proxy where the file is that it may take by itself, with ranges and all. Requests with conditions are not handed over: the proxy knows
 * the versions of files by other names.
 *
 * @returns false: the file is to be sent
 */
async function handOver(
  driver: StorageDriver,
  { path }: Located<Mount>,
  name: string,
  request: IncomingMessage,
  response: ServerResponse,
  call: DownloadCall,
  accelAddress: AccelAddress,
): Promise<boolean> {
  if (request.method !== 'GET' || !supports(driver, 'findOnHost') || isConditional(request)) return false;
  const { entry, hostPath } = await driver.findOnHost(path, call).catch(asNoFile);
  await call.mayAnswer();
  const address = accelAddress(hostPath);
  if (address === undefined) return false;
  // The proxy says by itself that it serves ranges.
  const { 'Accept-Ranges': _ranges, ...headers } = fileHeaders(entry, name, etagOf(entry));
  response.writeHead(200, { ...headers, 'X-Accel-Redirect': address, 'Content-Length': 0 }).end();
  return true;
}

function asNoFile(error: unknown): never {
  if (AppError.is(error, 'IS_A_DIRECTORY')) throw new AppError('IS_A_DIRECTORY', 'not a file', { cause: error });
  throw error;
}

function isConditional(request: IncomingMessage): boolean {
  return request.headers['if-range'] !== undefined || hasConditions(request);
}

/** A request whose answer does not depend on what the file is like. */
function isPlain(request: IncomingMessage): boolean {
  return request.method === 'GET' && request.headers.range === undefined && !hasConditions(request);
}

function hasConditions({ headers }: IncomingMessage): boolean {
  return CONDITIONS.some((header) => headers[header] !== undefined);
}

/** Opening the file tells all that is needed of it. After an error the caller aborts: a content that nobody iterates still holds its file. */
async function sendWhole(
  driver: StorageDriver,
  path: MountPath,
  name: string,
  response: ServerResponse,
  call: DownloadCall,
): Promise<void> {
  const content = await driver.read(path, undefined, call).catch(asNoFile);
  const { entry, whole } = content;
  await call.mayAnswer();
  const headers = fileHeaders(entry, name, etagOf(entry));
  if (entry.sizeBytes !== undefined) headers['Content-Length'] = String(entry.sizeBytes);
  response.writeHead(200, headers);
  if (whole !== undefined && whole.byteLength === (entry.sizeBytes ?? whole.byteLength)) return void response.end(whole);
  await sendContent(response, content, entry.sizeBytes);
  response.end();
}

/**
 * One range of a file as it is now. Opening it tells all that is needed, so the storage is asked once, not for a look at the file too.
 *
 * @returns what is to follow: nothing, a look at the file, or all of it, as no range can be counted in it
 */
async function sendRange(
  driver: StorageDriver,
  path: MountPath,
  name: string,
  request: IncomingMessage,
  response: ServerResponse,
  call: DownloadCall,
): Promise<'end' | 'look' | 'whole'> {
  const asked = singleRange(request.headers.range);
  if (asked === undefined || request.method !== 'GET' || hasConditions(request)) return 'look';
  const reading = followerOf(call.signal);
  try {
    const content = await driver.read(path, asked, { ...call, signal: reading.signal });
    const { entry } = content;
    await call.mayAnswer();
    const etag = etagOf(entry);
    const ranges = entry.sizeBytes === undefined ? undefined : rangesFor(request, entry.sizeBytes, entry, etag);
    const [range] = ranges === 'unsatisfiable' ? [] : (ranges ?? []);
    if (entry.sizeBytes === undefined || range === undefined) {
      reading.abort();
      return entry.sizeBytes === undefined ? 'whole' : 'look';
    }
    const headers = fileHeaders(entry, name, etag);
    const plan = planBody([range], entry.sizeBytes, '');
    response.writeHead(plan.status, { ...headers, ...plan.headers });
    await sendContent(response, content, lengthOf(range));
    response.end();
    return 'end';
  } catch (error) {
    // A content that nobody iterates still holds its file.
    reading.abort();
    if (!response.headersSent && NEED_A_LOOK.some((code) => AppError.is(error, code))) return 'look';
    return asNoFile(error);
  }
}

/** @param begin sends the headers, once the first part is open. @throws AppError STALE_VERSION when a part is of another file than `etag` */
async function sendParts(
  driver: StorageDriver,
  path: MountPath,
  plan: BodyPlan,
  etag: string | undefined,
  begin: () => void,
  response: ServerResponse,
  call: DownloadCall,
): Promise<void> {
  const reading = followerOf(call.signal);
  const open = { ...call, signal: reading.signal };
  try {
    for (const [index, { preamble, range }] of plan.parts.entries()) {
      const content = await driver.read(path, { offsetBytes: range.start, lengthBytes: lengthOf(range) }, open);
      if (etagOf(content.entry) !== etag) throw new AppError('STALE_VERSION', 'the file was replaced meanwhile');
      if (index === 0) {
        await call.mayAnswer();
        begin();
      }
      if (preamble !== '') response.write(preamble);
      await sendContent(response, content, lengthOf(range));
    }
    if (plan.parts.length === 0) begin();
  } catch (error) {
    // A content that nobody iterates still holds its file.
    reading.abort();
    throw error;
  }
}

/** Aborts with the signal of a request, and may abort alone; it costs a tenth of AbortSignal.any(). */
function followerOf(signal: AbortSignal): AbortController {
  const own = new AbortController();
  if (signal.aborted) own.abort(signal.reason);
  else signal.addEventListener('abort', () => own.abort(signal.reason), { once: true });
  return own;
}

function refuseRange(response: ServerResponse, headers: Record<string, string>, sizeBytes: number): void {
  const body = 'range not satisfiable\n';
  const range = { 'Content-Type': 'text/plain', 'Content-Range': `bytes */${sizeBytes}`, 'Content-Length': body.length };
  nameError(response, { code: 'RANGE_NOT_SATISFIABLE' });
  response.writeHead(416, { ...headers, ...range }).end(body);
}

/** Ranges are for GET only (RFC 9110 section 14.2). */
function rangesFor(
  request: IncomingMessage,
  sizeBytes: number,
  entry: Entry,
  etag: string | undefined,
): Range[] | 'unsatisfiable' | undefined {
  const ifRange = singleHeader(request.headers['if-range']);
  const isCurrent = ifRange === undefined || (tellsChanges(entry) && isRangeCurrent(ifRange, etag, entry.modifiedAt));
  if (request.method !== 'GET' || !isCurrent) return undefined;
  return rangesOf(sizeBytes, request.headers.range);
}

/** Files are for saving: nothing a user stored runs as a page of ours (nosniff, sandbox, attachment). */
function fileHeaders(entry: Entry, name: string, etag: string | undefined): Record<string, string> {
  return {
    ...headersOfName(name),
    'Content-Security-Policy': "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; media-src 'self'",
    'X-Content-Type-Options': 'nosniff',
    // Without a word caches keep a file for a tenth of its age: what is replaced, removed or closed was shown for days.
    'Cache-Control': 'private, no-cache',
    'Accept-Ranges': entry.sizeBytes === undefined ? 'none' : 'bytes',
    'Access-Control-Allow-Origin': '*',
    'Access-Control-Expose-Headers': 'Content-Length, Content-Range, Content-Disposition, ETag, Last-Modified, Accept-Ranges',
    ...(etag !== undefined && { ETag: etag }),
    'Last-Modified': entry.modifiedAt.toUTCString(),
  };
}

/** Types that a page loads from its own origin, where our page allows scripts and styles: what a user stored must be neither. */
const IS_LOADED = /^(?:text|application)\/(?:(?:x-)?(?:java|ecma)script|css|wasm)\b/;

/** Kept for the names that were asked for last: making it costs as much as all other headers. */
const headersByName = new LRUCache<string, Record<string, string>>({ max: 1000 });

function headersOfName(name: string): Record<string, string> {
  const known = headersByName.get(name);
  if (known !== undefined) return known;
  const encoded = encodeURIComponent(name).replace(/['()*]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`);
  const type = contentType(extname(name)) || 'application/octet-stream';
  const headers = {
    'Content-Type': IS_LOADED.test(type) ? 'text/plain; charset=utf-8' : type,
    'Content-Disposition': `attachment; filename="${encoded}"; filename*=utf-8''${encoded}`,
  };
  headersByName.set(name, headers);
  return headers;
}

function redirect(response: ServerResponse, location: string): void {
  response
    .writeHead(302, {
      Location: location,
      'Referrer-Policy': 'no-referrer',
      'Cache-Control': 'max-age=0, no-cache, no-store, must-revalidate',
      'Access-Control-Allow-Origin': '*',
    })
    .end();
}

function decodePath(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch (cause) {
    throw new AppError('INVALID_ARGUMENT', 'the path is not percent-encoded UTF-8', { cause });
  }
}

function singleHeader(value: string | string[] | undefined): string | undefined {
  return typeof value === 'string' ? value : value?.[0];
}
