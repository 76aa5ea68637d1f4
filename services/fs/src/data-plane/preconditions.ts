import type { IncomingHttpHeaders } from 'node:http';

/** What a conditional request comes to: go on, nothing changed (304), or it must not be served (412). */
export type Verdict = 'proceed' | 'not-modified' | 'failed';

/** Evaluates the conditional headers of a GET or HEAD in the order of RFC 9110 section 13.2.2, If-Range excepted. */
export function evaluatePreconditions(headers: IncomingHttpHeaders, etag: string, modifiedAt: Date): Verdict {
  const modifiedSecond = Math.floor(modifiedAt.getTime() / 1000) * 1000;
  const ifMatch = headers['if-match'];
  const unmodifiedSince = dateOf(headers['if-unmodified-since']);
  if (ifMatch !== undefined) {
    if (!matchesAny(ifMatch, etag)) return 'failed';
  } else if (unmodifiedSince !== undefined && modifiedSecond > unmodifiedSince) return 'failed';

  const ifNoneMatch = headers['if-none-match'];
  if (ifNoneMatch !== undefined) return matchesAny(ifNoneMatch, etag) ? 'not-modified' : 'proceed';
  const modifiedSince = dateOf(headers['if-modified-since']);
  return modifiedSince !== undefined && modifiedSecond <= modifiedSince ? 'not-modified' : 'proceed';
}

/** Whether Range still means the representation the client has a part of (RFC 9110 section 13.1.5). */
export function isRangeCurrent(ifRange: string | undefined, etag: string, modifiedAt: Date): boolean {
  if (ifRange === undefined) return true;
  if (ifRange.startsWith('"')) return ifRange === etag;
  const date = dateOf(ifRange);
  return date !== undefined && date === Math.floor(modifiedAt.getTime() / 1000) * 1000;
}

function matchesAny(list: string, etag: string): boolean {
  if (list.trim() === '*') return true;
  return list.split(',').some((each) => each.trim().replace(/^W\//, '') === etag);
}

function dateOf(text: string | undefined): number | undefined {
  const time = text === undefined ? Number.NaN : Date.parse(text);
  return Number.isNaN(time) ? undefined : time;
}
