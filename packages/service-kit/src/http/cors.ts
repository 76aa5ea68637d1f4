import type { IncomingMessage, ServerResponse } from 'node:http';
import { ERROR_NAME_HEADER } from './error-name.ts';

/** A day; browsers take less if they want to. */
const PREFLIGHT_AGE_S = 86_400;
/** The longest name of a host has 253 characters. */
const MAX_ORIGIN_LENGTH = 512;

const API_HEADERS = [
  'Authorization',
  'Content-Type',
  'Accept',
  'File-Path',
  'As-Task',
  'Overwrite',
  'If-Match',
  'If-None-Match',
  'If-Unmodified-Since',
  'Idempotency-Key',
  'Last-Modified',
  'Password',
  'X-File-Md5',
  'X-File-Sha1',
  'X-File-Sha256',
  'X-Requested-With',
  'X-File-Size',
  'X-Chunk-Size',
  'X-Chunk-Index',
  'X-Upload-Id',
  'X-Request-Id',
  'X-HTTP-Method-Override',
  'Tus-Resumable',
  'Upload-Length',
  'Upload-Offset',
  'Upload-Metadata',
  'Upload-Checksum',
  'Upload-Concat',
].join(', ');

const EXPOSED_HEADERS = [
  'X-Request-Id',
  ERROR_NAME_HEADER,
  'ETag',
  'Location',
  'Tus-Resumable',
  'Tus-Version',
  'Tus-Extension',
  'Upload-Offset',
  'Upload-Length',
  'Upload-Expires',
  'Upload-Metadata',
  'Upload-Concat',
  'Upload-Spooled',
  'Retry-After',
].join(', ');

/** Lets pages of other origins call the API, where they are configured to. */
export interface Cors {
  /** Adds what lets the request's origin read the answer. */
  allow(request: IncomingMessage, response: ServerResponse): void;
  /** Answers a preflight request. */
  preflight(request: IncomingMessage, response: ServerResponse): void;
  /**
   * Whether a page of another origin, which may not call the API, has a browser ask this without a login: browsers send forms wherever a page wants, and ask
   * nobody before.
   *
   * @param siteUrl where we are, as far as it is known
   */
  isForeign(request: IncomingMessage, siteUrl: string): boolean;
}

/** @param origins `*` among them is every origin: tokens travel in a header, so no origin can use another one's login. */
export function createCors(origins: readonly string[]): Cors {
  const allowed = new Set(origins);
  const allow = (request: IncomingMessage, response: ServerResponse): boolean => {
    if (allowed.size === 0) return false;
    response.setHeader('Vary', 'Origin');
    const { origin } = request.headers;
    if (origin === undefined || !(allowed.has('*') || allowed.has(origin))) return false;
    response.setHeader('Access-Control-Allow-Origin', origin);
    response.setHeader('Access-Control-Expose-Headers', EXPOSED_HEADERS);
    return true;
  };
  return {
    allow,
    preflight(request, response) {
      if (allow(request, response)) {
        response.setHeader('Access-Control-Allow-Methods', 'GET, POST, PUT, PATCH, DELETE, HEAD, OPTIONS');
        response.setHeader('Access-Control-Allow-Headers', API_HEADERS);
        response.setHeader('Access-Control-Max-Age', PREFLIGHT_AGE_S);
      }
      response.writeHead(204).end();
    },
    isForeign({ headers }, siteUrl) {
      const { origin, host, authorization } = headers;
      if (origin === undefined || authorization !== undefined || allowed.has('*') || allowed.has(origin)) return false;
      if (headers['sec-fetch-site'] === 'same-origin') return false;
      // Of a name of 30,000 characters it takes 40 ms.
      const own = origin.length > MAX_ORIGIN_LENGTH ? null : URL.parse(origin);
      // Programs and extensions of a browser are no pages that somebody was led to.
      if (own && !['http:', 'https:'].includes(own.protocol)) return false;
      // A proxy may have ended the TLS of which the origin tells.
      return own === null || ![`${own.protocol}//${host}`, siteUrl].some((address) => URL.parse(address)?.host === own.host);
    },
  };
}

/** Answers a preflight request for a download, which every page may read. */
export function preflightDownload(response: ServerResponse): void {
  response
    .writeHead(204, {
      'Access-Control-Allow-Origin': '*',
      'Access-Control-Allow-Methods': 'GET, HEAD, OPTIONS',
      'Access-Control-Allow-Headers': 'Range, If-Range, If-None-Match, If-Modified-Since, Authorization, Content-Type',
      'Access-Control-Max-Age': PREFLIGHT_AGE_S,
    })
    .end();
}
