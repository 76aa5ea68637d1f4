import { ApiError } from '../api/call.ts';
import { t } from '../i18n/i18n.ts';

/** What failed, in the viewer's language; what has no words there, in the server's. */
export function explain(error: unknown): string {
  if (!(error instanceof ApiError)) return error instanceof Error ? error.message : String(error);
  const { code, message } = error;
  if (code === 0) return t('errorOffline');
  if (code === 401) return t('errorLogin');
  if (code === 429 || code === 503) return t('errorBusy');
  const taken = /^file \[(.*)\] exists$/.exec(message);
  if (taken) return t('errorTaken', { name: taken[1] ?? '' });
  if (/object not found$/.test(message)) return t('errorGone');
  if (/please add a storage first$/.test(message)) return t('errorNoStorage');
  if (/permission denied$/i.test(message)) return t('errorForbidden');
  if (/not implement$|not support(ed)?$/.test(message)) return t('errorUnsupported');
  if (/relative path is not allowed$/.test(message)) return t('errorName');
  return message;
}
