import type { Answer, EgressPolicy, GuardedClient } from '@wharf/egress';
import { AppError } from '@wharf/errors';
import { type Digests, readDigests } from '../domain/digests.ts';
import { MAX_FILE_BYTES } from '../domain/part-map.ts';
import { isSameState, isStrong, provesSame, tellsChanges, type Validator } from '../domain/validator.ts';

/** A remote file whose first answer is open. */
export interface Source {
  /** After redirects. */
  readonly url: URL;
  /** At most MAX_FILE_BYTES. Undefined when the server does not say, and for a body that is decoded on the way. */
  readonly sizeBytes: number | undefined;
  /** Whether any part of it can be asked for, and a change of the file in between would be noticed. */
  readonly hasRanges: boolean;
  readonly validator: Validator;
  readonly disposition: string | undefined;
  readonly digests: Digests;
  /** `gzip` and the like, where the server encodes although it was asked not to. */
  readonly encoding: string;
  /** The body from its first byte. Whoever does not read it destroys it. */
  readonly response: Answer;
}

export interface FetchNetwork {
  readonly policy: EgressPolicy;
  readonly client: GuardedClient;
  /** Sent with each request to the first host, for example `Authorization` or `Cookie`. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly connectTimeoutMs?: number;
  readonly headersTimeoutMs?: number;
}

const MAX_REDIRECTS = 10;
const REDIRECTS = new Set([301, 302, 303, 307, 308]);
/** Some servers give these answers to a Range that they cannot read. Without the Range they may serve the file. */
const RANGE_REFUSED = new Set([400, 406, 416, 501]);
const DECODED = new Set(['gzip', 'x-gzip', 'deflate', 'br', 'zstd']);
/** A body of these types is meant to stay compressed, whatever its Content-Encoding says. */
const COMPRESSED_TYPES = /^application\/(?:gzip|x-gzip|x-tar|x-compressed-tar|x-tgz|zstd|x-brotli)\b/i;

/** The error of a source that has changed since the download began. The download starts again. */
const SOURCE_CHANGED = 'the source changed while it was fetched';

/**
 * Asks for a file from its first byte, ready to be continued in parts where the server can.
 *
 * @param wantsRanges false after the server turned out to answer ranges wrongly.
 * @throws AppError as {@link request} | FAILED_PRECONDITION (a size that no file has)
 */
export async function openSource(network: FetchNetwork, url: URL, wantsRanges: boolean, signal: AbortSignal): Promise<Source> {
  const asked = wantsRanges ? { Range: 'bytes=0-' } : {};
  const answer = await request(network, url, asked, signal, RANGE_REFUSED);
  const { response } = answer;
  const status = response.statusCode ?? 0;
  if (wantsRanges && RANGE_REFUSED.has(status)) {
    response.destroy();
    return openSource(network, url, false, signal);
  }
  if (status !== 200 && status !== 206) {
    response.destroy();
    throw refusedStatus(status, answer.url);
  }
  const range = status === 206 ? readContentRange(response) : undefined;
  const { headers } = response;
  const length = headers['content-length'] === undefined ? undefined : Number(headers['content-length']);
  const announced = range?.total ?? length;
  if (announced !== undefined && !(Number.isSafeInteger(announced) && announced <= MAX_FILE_BYTES)) {
    response.destroy();
    throw new AppError('FAILED_PRECONDITION', `${answer.url.host} announces a size that is not believed: more than 16 TiB`);
  }
  if (status === 206 && (range?.start !== 0 || range.total === undefined || range.end !== range.total - 1)) {
    response.destroy();
    if (!wantsRanges) throw new AppError('STORAGE_UNAVAILABLE', `${answer.url.host} answers with another range than was asked for`);
    return openSource(network, url, false, signal);
  }
  const encoding = encodingOf(response);
  const validator = validatorOf(response);
  return {
    url: answer.url,
    sizeBytes: encoding === '' ? announced : undefined,
    hasRanges: encoding === '' && range !== undefined && tellsChanges(validator) && !isJustWritten(validator, headers.date),
    validator,
    disposition: headers['content-disposition'],
    digests: encoding === '' ? readDigests(headers, range === undefined || range.total === length) : {},
    encoding,
    response,
  };
}

/**
 * Asks for bytes [start, end] of a source that was opened before.
 *
 * @throws AppError STALE_VERSION (it is another file by now) | RANGE_NOT_SATISFIABLE (the server does not answer with this range) | as
 * {@link request}
 */
export async function openRange(
  network: FetchNetwork,
  source: Pick<Source, 'url' | 'sizeBytes' | 'validator'>,
  start: number,
  end: number,
  signal: AbortSignal,
): Promise<Answer> {
  const { etag } = source.validator;
  const ifRange: Record<string, string> = isStrong(etag) ? { 'If-Range': etag } : {};
  const headers = { Range: `bytes=${start}-${end}`, ...ifRange };
  const { response, url } = await request(network, source.url, headers, signal, new Set([416]), true);
  const changed = () => new AppError('STALE_VERSION', SOURCE_CHANGED);
  try {
    const status = response.statusCode ?? 0;
    if (status !== 200 && status !== 206 && status !== 416) throw refusedStatus(status, url);
    const now = validatorOf(response);
    if (status !== 416 && !isSameState(source.validator, now)) throw changed();
    const range = readContentRange(response);
    if (range?.total !== undefined && range.total !== source.sizeBytes) throw changed();
    if (status === 416) throw changed();
    // An If-Range that did not hold is answered with the whole file; so does a server that forgot how to serve ranges.
    const length = Number(response.headers['content-length'] ?? Number.NaN);
    if (status === 200 && Number.isFinite(length) && length !== source.sizeBytes) throw changed();
    if (status === 200 || encodingOf(response) !== '' || range?.start !== start || range.end > end)
      throw new AppError('RANGE_NOT_SATISFIABLE', `${url.host} answers with another range than was asked for`);
    // With If-Range the server has compared by itself, and need not say it again.
    if (!isStrong(etag) && !provesSame(source.validator, now))
      throw new AppError('RANGE_NOT_SATISFIABLE', `${url.host} does not say of which state of the file its range is`);
    return response;
  } catch (error) {
    response.destroy();
    throw error;
  }
}

/**
 * Follows up to ten redirects, each checked like the first address. Headers with credentials go only to the host that they were given for.
 *
 * @param passing statuses over 400 that are answered instead of thrown.
 * @throws AppError PERMISSION_DENIED (egress) | FAILED_PRECONDITION (the server refuses) | STORAGE_UNAVAILABLE | DEADLINE_EXCEEDED | CANCELLED
 */
async function request(
  network: FetchNetwork,
  first: URL,
  headers: Readonly<Record<string, string>>,
  signal: AbortSignal,
  passing: ReadonlySet<number>,
  isBulk = false,
): Promise<{ response: Answer; url: URL }> {
  let url = first;
  let own: Readonly<Record<string, string>> = network.headers ?? {};
  const { connectTimeoutMs, headersTimeoutMs } = network;
  for (let hops = 0; ; hops++) {
    const response = await network.client.request({
      url,
      // Another encoding would hide lengths and ranges.
      headers: { 'User-Agent': 'Wharf', Accept: '*/*', 'Accept-Encoding': 'identity', ...own, ...headers },
      signal,
      isBulk,
      ...(connectTimeoutMs === undefined ? {} : { connectTimeoutMs }),
      ...(headersTimeoutMs === undefined ? {} : { headersTimeoutMs }),
    });
    const status = response.statusCode ?? 0;
    const { location } = response.headers;
    if (!REDIRECTS.has(status) || location === undefined) {
      if (status < 400 || passing.has(status)) return { response, url };
      response.destroy();
      throw refusedStatus(status, url);
    }
    response.destroy();
    if (hops === MAX_REDIRECTS) throw new AppError('FAILED_PRECONDITION', `more than ${MAX_REDIRECTS} redirects`);
    const next = network.policy.parseUrl(decodedLocation(location), url);
    if (next.origin === url.origin) {
      if (next.username === '') {
        next.username = url.username;
        next.password = url.password;
      }
    } else own = {};
    url = next;
  }
}

/** The header as its server wrote it: Node shows bytes as latin1. */
function decodedLocation(location: string): string {
  return Buffer.from(location, 'latin1').toString('utf8');
}

/** The error for a status that brings no file. One that may pass by itself is retried. */
function refusedStatus(status: number, url: URL): AppError {
  const mayPass = status >= 500 || status === 408 || status === 425 || status === 429;
  return new AppError(mayPass ? 'STORAGE_UNAVAILABLE' : 'FAILED_PRECONDITION', `${url.host} answers ${status}`, { details: { status } });
}

function readContentRange(response: Answer): { start: number; end: number; total: number | undefined } | undefined {
  const match = /^bytes (\d+)-(\d+)\/(\d+|\*)$/.exec(response.headers['content-range']?.trim() ?? '');
  if (!match) return undefined;
  return { start: Number(match[1]), end: Number(match[2]), total: match[3] === '*' ? undefined : Number(match[3]) };
}

function validatorOf(response: Answer): Validator {
  return { etag: response.headers.etag ?? '', lastModified: response.headers['last-modified'] ?? '' };
}

/** In this time a file may change once more and keep its date, in milliseconds (RFC 9110 section 8.8.2.2). */
const DATE_STEP_MS = 1_000;

/** Whether a file is known by a date alone that says nothing yet. Some servers say the moment of each answer. */
function isJustWritten({ etag, lastModified }: Validator, date: string | undefined): boolean {
  return !isStrong(etag) && Date.parse(date ?? '') - Date.parse(lastModified) < DATE_STEP_MS;
}

/** @throws AppError FAILED_PRECONDITION for an encoding that we cannot undo */
function encodingOf(response: Answer): string {
  const encoding = (response.headers['content-encoding'] ?? '').trim().toLowerCase();
  if (encoding === '' || encoding === 'identity') return '';
  if (COMPRESSED_TYPES.test(response.headers['content-type'] ?? '')) return '';
  if (DECODED.has(encoding)) return encoding;
  response.destroy();
  throw new AppError('FAILED_PRECONDITION', `the server sends the file in an encoding that is not known: ${encoding.slice(0, 40)}`);
}
