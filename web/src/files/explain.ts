import { ApiError } from '../api/call.ts';
import type { ErrorName } from '../api/operations.ts';
import { hasText, t } from '../i18n/i18n.ts';
import type { Messages } from '../i18n/messages-en.ts';

/** What failed, in the viewer's language; what has no words there, in the server's. */
export function explain(error: unknown): string {
  // A file of the viewer's own that the browser cannot read.
  if (error instanceof DOMException) return t('errorFileGone');
  if (!(error instanceof ApiError)) return error instanceof Error ? error.message : String(error);
  if (error.code === 0) return t('errorOffline');
  return explainNamed(error.error, error.message);
}

/** The same for an error that is told by its name. @param message in the server's words */
export function explainNamed(name: ErrorName | undefined, message: string): string {
  const taken = /^file \[(.*)\] exists$/.exec(message);
  if (taken) return t('errorTaken', { name: taken[1] ?? '' });
  // There is a text for every name. A server that is newer than this page may know more.
  const key: keyof Messages | undefined = name;
  return key !== undefined && hasText(key) ? t(key, { detail: message }) : message;
}
