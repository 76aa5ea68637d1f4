import { randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { extname } from 'node:path';
import { AppError } from '@wharf/errors';
import type { Call } from '@wharf/service-kit';
import { contentType } from 'mime-types';
import parseRange from 'range-parser';
import type { FsContext } from '../api/fs-context.ts';
import { canProxy, downProxyUrl, needsSign, shouldProxy } from '../domain/links.ts';
import type { Located } from '../domain/mount-table.ts';
import type { Mount } from '../domain/mounts.ts';
import { locate, type Tree } from '../domain/tree.ts';
import { baseName, type MountPath, parseVirtualPath, type VirtualPath } from '../driver-contract/paths.ts';
import type { Entry, StorageDriver } from '../driver-contract/storage-driver.ts';
import { evaluatePreconditions, isRangeCurrent } from './preconditions.ts';
import { sendContent } from './send-content.ts';

/** A request for more ranges than this gets the whole file: many small ones cost more than they save. */
const MAX_RANGES = 16;
/** `bytes=` and a list of `first-last`, `first-` or `-count`. */
const BYTE_RANGES = /^bytes=\s*(?:\d+-\d*|-\d+)(?:\s*,\s*(?:\d+-\d*|-\d+))*\s*$/i;
/** A file that is replaced between looking at it and opening it is looked at again, this often at most. */
const MAX_LOOKS = 3;

export interface DownloadRequest {
  readonly call: Call;
  readonly route: 'd' | 'p';
  /** Percent-encoded, of the whole tree. */
  readonly path: string;
  readonly query: URLSearchParams;
}

interface Range {
  readonly start: number;
  /** Inclusive. */
  readonly end: number;
}

/** `GET` and `HEAD` of `/d/<path>` and `/p/<path>`: the right to read is in the signature of the link. */
export async function serveDownload(
  context: FsContext,
  request: IncomingMessage,
  response: ServerResponse,
  asked: DownloadRequest,
): Promise<void> {
  const tree = await context.configuration.tree(asked.call.revisions);
  const path = parseVirtualPath(decodePath(asked.path));
  const located = authorise(tree, path, asked.query.get('sign') ?? '');
  const name = baseName(path);
  if (name === undefined || tree.table.findVirtualFolder(path)) throw new AppError('IS_A_DIRECTORY', 'not a file');
  if (asked.route === 'p' && !canProxy(tree, located.mount, name)) throw new AppError('PERMISSION_DENIED', 'proxy not allowed');
  const elsewhere = asked.query.has('d') ? undefined : downProxyUrl(tree, located.mount, path);
  if (elsewhere !== undefined && (asked.route === 'p' || shouldProxy(tree, located.mount, name))) return redirect(response, elsewhere);
  await sendFile(await located.mount.driver(), located, name, request, response, asked.call.signal);
}

/** Checks the signature before anything about the path is told. @throws AppError UNAUTHENTICATED | MOUNT_NOT_FOUND */
function authorise(tree: Tree, path: VirtualPath, sign: string): Located<Mount> {
  const located = tree.table.locate(path);
  if (!located || needsSign(tree, located.mount, path)) tree.signer.verify(path, sign);
  return located ?? locate(tree, path);
}

async function sendFile(
  driver: StorageDriver,
  { path }: Located<Mount>,
  name: string,
  request: IncomingMessage,
  response: ServerResponse,
  signal: AbortSignal,
): Promise<void> {
  for (let look = 1; ; look += 1) {
    const entry = await driver.stat(path, { signal });
    if (entry.isDirectory) throw new AppError('IS_A_DIRECTORY', 'not a file');
    const etag = etagOf(entry);
    const headers = fileHeaders(entry, name, etag);
    const verdict = evaluatePreconditions(request.headers, etag, entry.modifiedAt);
    if (verdict !== 'proceed') return void response.writeHead(verdict === 'failed' ? 412 : 304, headers).end();

    const ranges = rangesOf(request, entry, etag);
    if (ranges === 'unsatisfiable') return refuseRange(response, headers, entry.sizeBytes);
    const plan = planBody(ranges, entry.sizeBytes, headers['Content-Type'] ?? '');
    const begin = () => response.writeHead(plan.status, { ...headers, ...plan.headers });
    if (request.method === 'HEAD') return void begin().end();
    try {
      await sendParts(driver, path, plan, etag, begin, response, signal);
      return void response.end(plan.epilogue);
    } catch (error) {
      if (!AppError.is(error, 'STALE_VERSION') || response.headersSent || look === MAX_LOOKS) throw error;
    }
  }
}

/** @param begin sends the headers, once the first part is open. @throws AppError STALE_VERSION when a part is of another file than `etag` */
async function sendParts(
  driver: StorageDriver,
  path: MountPath,
  plan: BodyPlan,
  etag: string,
  begin: () => void,
  response: ServerResponse,
  signal: AbortSignal,
): Promise<void> {
  // Aborted at the end in any case: a content that nobody iterates still holds its file.
  const reading = new AbortController();
  const open = { signal: AbortSignal.any([signal, reading.signal]) };
  try {
    for (const [index, { preamble, range }] of plan.parts.entries()) {
      const content = await driver.read(path, { offsetBytes: range.start, lengthBytes: lengthOf(range) }, open);
      if (etagOf(content.entry) !== etag) throw new AppError('STALE_VERSION', 'the file was replaced meanwhile');
      if (index === 0) begin();
      if (preamble !== '') response.write(preamble);
      await sendContent(response, content, lengthOf(range));
    }
    if (plan.parts.length === 0) begin();
  } finally {
    reading.abort();
  }
}

function refuseRange(response: ServerResponse, headers: Record<string, string>, sizeBytes: number): void {
  const body = 'range not satisfiable\n';
  const range = { 'Content-Type': 'text/plain', 'Content-Range': `bytes */${sizeBytes}`, 'Content-Length': body.length };
  response.writeHead(416, { ...headers, ...range }).end(body);
}

interface BodyPlan {
  readonly status: number;
  readonly headers: Record<string, string | number>;
  readonly parts: ReadonlyArray<{ readonly preamble: string; readonly range: Range }>;
  readonly epilogue: string;
}

/** What is sent: everything, one range, or several as multipart/byteranges (RFC 9110 section 14.6). */
function planBody(ranges: readonly Range[] | undefined, sizeBytes: number, type: string): BodyPlan {
  const [only] = ranges ?? [];
  if (!ranges || !only) {
    const parts = sizeBytes === 0 ? [] : [{ preamble: '', range: { start: 0, end: sizeBytes - 1 } }];
    return { status: 200, headers: { 'Content-Length': sizeBytes }, parts, epilogue: '' };
  }
  if (ranges.length === 1) {
    const headers = { 'Content-Length': lengthOf(only), 'Content-Range': contentRange(only, sizeBytes) };
    return { status: 206, headers, parts: [{ preamble: '', range: only }], epilogue: '' };
  }
  const boundary = randomBytes(16).toString('hex');
  const parts = ranges.map((range, index) => ({
    preamble: `${index === 0 ? '' : '\r\n'}--${boundary}\r\nContent-Type: ${type}\r\nContent-Range: ${contentRange(range, sizeBytes)}\r\n\r\n`,
    range,
  }));
  const epilogue = `\r\n--${boundary}--\r\n`;
  const length = parts.reduce((sum, part) => sum + part.preamble.length + lengthOf(part.range), epilogue.length);
  const headers = { 'Content-Length': length, 'Content-Type': `multipart/byteranges; boundary=${boundary}` };
  return { status: 206, headers, parts, epilogue };
}

/** Ranges are for GET only (RFC 9110 section 14.2). A header that is no range, or asks for other units, is as if it were not there. */
function rangesOf(request: IncomingMessage, { sizeBytes, modifiedAt }: Entry, etag: string): Range[] | 'unsatisfiable' | undefined {
  const { range } = request.headers;
  if (request.method !== 'GET' || range === undefined || !BYTE_RANGES.test(range)) return undefined;
  if (!isRangeCurrent(singleHeader(request.headers['if-range']), etag, modifiedAt)) return undefined;
  // The last bytes of a file that has not as many are the whole file (RFC 9110 section 14.1.2); the parser takes that for an error.
  const withinFile = range.replace(/([=,]\s*)-(\d+)/g, (suffix, lead: string, count: string) =>
    Number(count) > sizeBytes ? `${lead}0-` : suffix,
  );
  const parsed = parseRange(sizeBytes, withinFile, { combine: true });
  if (parsed === -1) return 'unsatisfiable';
  if (parsed === -2 || parsed.length > MAX_RANGES) return undefined;
  return parsed.map(({ start, end }) => ({ start, end }));
}

function lengthOf({ start, end }: Range): number {
  return end - start + 1;
}

function contentRange({ start, end }: Range, sizeBytes: number): string {
  return `bytes ${start}-${end}/${sizeBytes}`;
}

/** The strongest digest there is, else time and size. */
function etagOf(entry: Entry): string {
  const digest = entry.hashes?.sha256 ?? entry.hashes?.sha1 ?? entry.hashes?.md5;
  return digest === undefined ? `"${entry.modifiedAt.getTime().toString(16)}-${entry.sizeBytes.toString(16)}"` : `"${digest}"`;
}

/** Files are for saving: nothing a user stored runs as a page of ours (nosniff, sandbox, attachment). */
function fileHeaders(entry: Entry, name: string, etag: string): Record<string, string> {
  const encoded = encodeURIComponent(name).replace(/['()*]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`);
  return {
    'Content-Type': contentType(extname(name)) || 'application/octet-stream',
    'Content-Disposition': `attachment; filename="${encoded}"; filename*=utf-8''${encoded}`,
    'Content-Security-Policy': "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; media-src 'self'",
    'X-Content-Type-Options': 'nosniff',
    'Accept-Ranges': 'bytes',
    'Access-Control-Allow-Origin': '*',
    'Access-Control-Expose-Headers': 'Content-Length, Content-Range, Content-Disposition, ETag, Last-Modified, Accept-Ranges',
    ETag: etag,
    'Last-Modified': entry.modifiedAt.toUTCString(),
  };
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
