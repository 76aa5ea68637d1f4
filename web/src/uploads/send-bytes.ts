import { ApiError, ERROR_NAME, openEnvelope, token } from '../api/call.ts';

/** A body of which nothing moves for so long has met a network that is gone, in milliseconds. */
const STALL_MS = 60_000;

/** The body was refused for its size, by a proxy between here and the server. */
export const TOO_LARGE = 413;

/**
 * One request that carries bytes. XMLHttpRequest, since fetch does not tell how much was sent; a buffer, since Safari 26 never ends a request
 * whose body is a slice of a file.
 *
 * @returns the data of the envelope.
 * @throws ApiError what it says instead, 0 where nobody answered, 413 where a proxy refused the body for its size.
 */
export function sendBytes(
  address: string,
  headers: Readonly<Record<string, string>>,
  body: ArrayBuffer | File,
  { signal, onProgress }: { signal: AbortSignal; onProgress: (sentBytes: number) => void },
): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open('PUT', address);
    for (const [name, value] of Object.entries(headers)) request.setRequestHeader(name, value);
    if (token() !== '') request.setRequestHeader('Authorization', token());
    request.responseType = 'json';
    const abort = () => request.abort();
    let stall: ReturnType<typeof setTimeout> | undefined;
    const move = () => {
      clearTimeout(stall);
      stall = setTimeout(abort, STALL_MS);
    };
    move();
    signal.addEventListener('abort', abort, { once: true });
    request.upload.addEventListener('progress', (event) => {
      move();
      onProgress(event.loaded);
    });
    // A whole file is verified before it is answered, which takes as long as it takes.
    request.upload.addEventListener('load', () => clearTimeout(stall));
    request.addEventListener('loadend', () => {
      clearTimeout(stall);
      signal.removeEventListener('abort', abort);
      if (signal.aborted) return reject(signal.reason);
      try {
        if (request.status === TOO_LARGE) throw new ApiError(TOO_LARGE, 'the body is too large');
        resolve(openEnvelope(request.response, request.getResponseHeader(ERROR_NAME)));
      } catch (error) {
        reject(error);
      }
    });
    request.send(body);
  });
}

/** Puts a text. @returns the ETag of the file that it is then. @throws ApiError */
export async function putText(headers: Readonly<Record<string, string>>, text: string): Promise<string> {
  const answer = await fetch('/api/fs/put', { method: 'PUT', headers: { Authorization: token(), ...headers }, body: text }).catch(
    (error: unknown) => {
      throw new ApiError(0, String(error));
    },
  );
  openEnvelope(await answer.json().catch(() => undefined), answer.headers.get(ERROR_NAME));
  return answer.headers.get('ETag') ?? '';
}

/** A path as the header `File-Path` has it. */
export const encodePath = (path: string): string => path.split('/').map(encodeURIComponent).join('/');
