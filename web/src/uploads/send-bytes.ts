import { ApiError, failOffline, openEnvelope, token } from '../api/call.ts';
import { ERROR_NAME } from '../api/error-header.ts';
import { newOnceKey, ONCE_KEY } from '../api/once-key.ts';
import type { SendBody, Watch } from './send-body.ts';

/** The body was refused for its size, by a proxy between here and the server. */
export const TOO_LARGE = 413;

/**
 * One request that carries bytes, with the login of this browser.
 *
 * @param send how they travel
 * @returns the data of the envelope.
 * @throws ApiError what it says instead, 0 where nobody answered, 413 where a proxy refused the body for its size; the signal's reason.
 */
export async function sendBytes<Body>(
  address: string,
  headers: Readonly<Record<string, string>>,
  body: Body,
  watch: Watch,
  send: SendBody<Body>,
): Promise<unknown> {
  const login = token() === '' ? {} : { Authorization: token() };
  const { status, envelope, errorName } = await send(address, { ...headers, ...login }, body, watch);
  if (status === TOO_LARGE) throw new ApiError(TOO_LARGE, 'the body is too large');
  return openEnvelope(envelope, errorName);
}

/** Puts a text. @returns the ETag of the file that it is then; empty where a proxy keeps it back. @throws ApiError */
export async function putText(headers: Readonly<Record<string, string>>, text: string): Promise<string> {
  const answer = await fetch('/api/fs/put', {
    method: 'PUT',
    headers: { Authorization: token(), [ONCE_KEY]: newOnceKey(), ...headers },
    body: text,
  }).catch(failOffline);
  openEnvelope(await answer.json().catch(() => undefined), answer.headers.get(ERROR_NAME));
  // A proxy that compresses answers calls the tag weak, and a weak one is that of no file.
  return (answer.headers.get('ETag') ?? '').replace(/^W\//, '');
}

/** A path as the header `File-Path` has it. */
export const encodePath = (path: string): string => path.split('/').map(encodeURIComponent).join('/');
