/** What tells one state of a remote file from another. Empty texts: the server does not say. */
export interface Validator {
  readonly etag: string;
  readonly lastModified: string;
}

/** Whether two answers are about one state: by what both say, or because one says nothing. Where each says something else, nothing tells that they are. */
export function isSameState(before: Validator, now: Validator): boolean {
  if (before.etag !== '' && now.etag !== '') return plainTag(before.etag) === plainTag(now.etag);
  if (before.lastModified !== '' && now.lastModified !== '') return before.lastModified === now.lastModified;
  return !isKnown(before) || !isKnown(now);
}

/** Whether a server said anything by which a state is known. */
export function isKnown({ etag, lastModified }: Validator): boolean {
  return etag !== '' || lastModified !== '';
}

function plainTag(etag: string): string {
  return etag.replace(/^W\//, '');
}
