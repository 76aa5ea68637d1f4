import type { IncomingHttpHeaders } from 'node:http';
import { isKnown } from '../domain/reading/etag.ts';

/** What a conditional request comes to: go on, nothing changed (304), or it must not be served (412). */
export type Verdict = 'proceed' | 'not-modified' | 'failed';

/** Evaluates the conditional headers of a request in the order of RFC 9110 section 13.2.2, If-Range excepted. @param etag undefined: the file has none, which no tag is */
export function evaluatePreconditions(headers: IncomingHttpHeaders, etag: string | undefined, modifiedAt: Date): Verdict {
  const modifiedSecond = Math.floor(modifiedAt.getTime() / 1000) * 1000;
  const ifMatch = headers['if-match'];
  const unmodifiedSince = dateOf(headers['if-unmodified-since']);
  if (ifMatch !== undefined) {
    if (!matchesAny(ifMatch, etag)) return 'failed';
  } else if (unmodifiedSince !== undefined && modifiedSecond > unmodifiedSince) return 'failed';

  const ifNoneMatch = headers['if-none-match'];
  if (ifNoneMatch !== undefined) return matchesAny(ifNoneMatch.replaceAll('W/"', '"'), etag) ? 'not-modified' : 'proceed';
  const modifiedSince = dateOf(headers['if-modified-since']);
  return modifiedSince !== undefined && isKnown(modifiedAt) && modifiedSecond <= modifiedSince ? 'not-modified' : 'proceed';
}

/**
 * The conditional headers of an upload that ask what the file is that it replaces; undefined: none does. `If-None-Match: *` asks whether there is one.
 */
export function replaceConditions(headers: IncomingHttpHeaders): IncomingHttpHeaders | undefined {
  const { 'if-match': tags, 'if-unmodified-since': date, 'if-none-match': others } = headers;
  const conditions = {
    ...(tags === undefined ? {} : { 'if-match': tags }),
    ...(dateOf(date) === undefined ? {} : { 'if-unmodified-since': date }),
    ...(others === undefined || others.trim() === '*' ? {} : { 'if-none-match': others }),
  };
  return Object.keys(conditions).length > 0 ? conditions : undefined;
}

/** The first of them as it is written. */
export function nameOf(conditions: IncomingHttpHeaders): string {
  const [name = ''] = Object.keys(conditions);
  return name.replace(/\b[a-z]/g, (letter) => letter.toUpperCase());
}

/** Whether Range still means the representation the client has a part of (RFC 9110 section 13.1.5). */
export function isRangeCurrent(ifRange: string | undefined, etag: string | undefined, modifiedAt: Date): boolean {
  if (ifRange === undefined) return true;
  if (ifRange.startsWith('"')) return ifRange === etag;
  const date = dateOf(ifRange);
  return isKnown(modifiedAt) && date === Math.floor(modifiedAt.getTime() / 1000) * 1000;
}

/** Whether a list of `If-Match` has a tag. Compares strongly: our tags are strong, so a weak one never matches. */
function matchesAny(list: string, etag: string | undefined): boolean {
  return list.trim() === '*' || list.split(',').some((each) => each.trim() === etag);
}

/** All three forms of an HTTP date begin with a day of the week and a comma or a space (RFC 9110 section 5.6.7). */
const HTTP_DATE = /^(?:Mon|Tues?|Wed(?:nes)?|Thu(?:rs)?|Fri|Sat(?:ur)?|Sun)(?:day)?,? /;

/** Undefined for what is no date: such a header is as if it were not there. The form without a zone is in UTC too. */
function dateOf(text: string | undefined): number | undefined {
  if (text === undefined || !HTTP_DATE.test(text)) return undefined;
  const time = Date.parse(text.endsWith('GMT') ? text : `${text} GMT`);
  return Number.isNaN(time) ? undefined : time;
}
