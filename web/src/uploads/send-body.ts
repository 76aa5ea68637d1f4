import { ERROR_NAME } from '../api/error-header.ts';

/** A body of which nothing moves for so long has met a network that is gone, in milliseconds. */
const STALL_MS = 60_000;

/** What came back. */
export interface BodyAnswer {
  /** 0: nobody answered. */
  readonly status: number;
  /** Null: there was none. */
  readonly envelope: unknown;
  readonly errorName: string | null;
}

/** How a body travels: {@link sendBody}, or by way of a thread. */
export type SendBody<Body> = (address: string, headers: Readonly<Record<string, string>>, body: Body, watch: Watch) => Promise<BodyAnswer>;

/** What ends the request, and who is told what was sent of it. */
export interface Watch {
  readonly signal: AbortSignal;
  readonly onProgress: (sentBytes: number) => void;
}

/**
 * One request that carries bytes. XMLHttpRequest, since fetch does not tell how much was sent; a buffer, since Safari 26 never ends a request
 * whose body is a slice of a file.
 *
 * @throws the signal's reason
 */
export function sendBody(
  address: string,
  headers: Readonly<Record<string, string>>,
  body: ArrayBuffer | File,
  { signal, onProgress }: Watch,
): Promise<BodyAnswer> {
  return new Promise((resolve, reject) => {
    // It was ended while the body was read, or while it waited for its place: the signal tells that only once.
    signal.throwIfAborted();
    const request = new XMLHttpRequest();
    request.open('PUT', address);
    for (const [name, value] of Object.entries(headers)) request.setRequestHeader(name, value);
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
      resolve({ status: request.status, envelope: request.response, errorName: request.getResponseHeader(ERROR_NAME) });
    });
    request.send(body);
  });
}
