/** What tells one state of a remote file from another. Empty texts: the server does not say. */
export interface Validator {
  readonly etag: string;
  readonly lastModified: string;
}

/** Whether two answers are about one state, as far as both say. */
export function isSameState(before: Validator, now: Validator): boolean {
  if (before.etag !== '' && now.etag !== '') return plainTag(before.etag) === plainTag(now.etag);
  return before.lastModified === '' || now.lastModified === '' || before.lastModified === now.lastModified;
}

function plainTag(etag: string): string {
  return etag.replace(/^W\//, '');
}
