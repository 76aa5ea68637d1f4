/** What tells one state of a remote file from another. Empty texts: the server does not say. */
export interface Validator {
  readonly etag: string;
  readonly lastModified: string;
}

/** Whether two answers are about one state: by what both say, or because one says nothing. Where each says something else, nothing tells that they are. */
export function isSameState(before: Validator, now: Validator): boolean {
  if (haveOtherTags(before, now)) return false;
  if (haveDates(before, now)) return provesSame(before, now);
  return haveTags(before, now) || !isKnown(before) || !isKnown(now);
}

/**
 * Whether two answers are about the very same bytes, as far as HTTP tells. Equal ETags of which one is weak say that the contents mean the same, not that they
 * are the same (RFC 9110 section 8.8.1): then the dates tell.
 */
export function provesSame(before: Validator, now: Validator): boolean {
  if (isStrong(before.etag) && isStrong(now.etag)) return before.etag === now.etag;
  return !haveOtherTags(before, now) && haveDates(before, now) && before.lastModified === now.lastModified;
}

/** Whether a change of the file would be noticed: a weak ETag alone may stay while bytes change. */
export function tellsChanges({ etag, lastModified }: Validator): boolean {
  return isStrong(etag) || lastModified !== '';
}

/** Whether this ETag stands for the very bytes, and may be sent as If-Range. */
export function isStrong(etag: string): boolean {
  return etag !== '' && !etag.startsWith('W/');
}

function haveTags(before: Validator, now: Validator): boolean {
  return before.etag !== '' && now.etag !== '';
}

function haveOtherTags(before: Validator, now: Validator): boolean {
  return haveTags(before, now) && plainTag(before.etag) !== plainTag(now.etag);
}

function haveDates(before: Validator, now: Validator): boolean {
  return before.lastModified !== '' && now.lastModified !== '';
}

function isKnown({ etag, lastModified }: Validator): boolean {
  return etag !== '' || lastModified !== '';
}

function plainTag(etag: string): string {
  return etag.replace(/^W\//, '');
}
