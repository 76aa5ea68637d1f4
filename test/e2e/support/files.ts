import { type Api, at, type Bytes, type HttpAnswer, httpRequest } from '@wharf/harness';

/** The `{ code, message, data }` of an answer, which must have come with status 200 and as JSON. */
export interface Answer {
  readonly code: number;
  readonly message: string;
  readonly data: unknown;
}

/** @throws Error with the beginning of the body when the answer is no envelope */
export function readEnvelope(answer: HttpAnswer): Answer {
  const shown = () => `HTTP ${answer.status} is no envelope: ${answer.text().slice(0, 300)}`;
  let body: unknown;
  try {
    body = answer.json();
  } catch (error) {
    throw new Error(shown(), { cause: error });
  }
  const [code, message] = [at(body, 'code'), at(body, 'message')];
  if (answer.status !== 200 || typeof code !== 'number' || typeof message !== 'string') throw new Error(shown());
  return { code, message, data: at(body, 'data') };
}

/** The header that names the target of an upload. */
export function filePath(path: string): { 'file-path': string } {
  return { 'file-path': encodeURIComponent(path) };
}

/** Uploads by `PUT /api/fs/put`. A text or buffer goes with its length, an iterable in chunked encoding. */
export async function put(
  caller: Api,
  base: string,
  path: string,
  body: string | Uint8Array | Bytes = '',
  headers: Record<string, string> = {},
): Promise<Answer> {
  const length = typeof body === 'string' || body instanceof Uint8Array ? { 'content-length': Buffer.byteLength(body) } : {};
  const answer = await httpRequest(base, {
    method: 'PUT',
    path: '/api/fs/put',
    headers: { ...authorization(caller), 'content-type': 'application/octet-stream', ...filePath(path), ...length, ...headers },
    body,
  });
  return readEnvelope(answer);
}

export const FORM_BOUNDARY = 'wharf-e2e-boundary';

/** A multipart body with one part; `fileName` null makes it a plain field. */
export function formBody(field: string, content: string | Uint8Array, fileName: string | null = 'ignored.bin'): Buffer {
  const { head, tail } = formFrame(field, fileName);
  return Buffer.concat([head, Buffer.from(content), tail]);
}

/** What stands before and behind the content of a form's one part. */
export function formFrame(field = 'file', fileName: string | null = 'ignored.bin'): { head: Buffer; tail: Buffer } {
  const name = fileName === null ? '' : `; filename="${fileName}"\r\nContent-Type: application/octet-stream`;
  return {
    head: Buffer.from(`--${FORM_BOUNDARY}\r\nContent-Disposition: form-data; name="${field}"${name}\r\n\r\n`),
    tail: Buffer.from(`\r\n--${FORM_BOUNDARY}--\r\n`),
  };
}

/** Uploads by `PUT /api/fs/form`; `body` is a whole multipart body. */
export async function putForm(
  caller: Api,
  base: string,
  path: string,
  body: Uint8Array,
  headers: Record<string, string> = {},
): Promise<Answer> {
  const answer = await httpRequest(base, {
    method: 'PUT',
    path: '/api/fs/form',
    headers: {
      ...authorization(caller),
      'content-type': `multipart/form-data; boundary=${FORM_BOUNDARY}`,
      'content-length': body.byteLength,
      ...filePath(path),
      ...headers,
    },
    body,
  });
  return readEnvelope(answer);
}

export function authorization(caller: Api): { authorization?: string } {
  return caller.token === undefined ? {} : { authorization: caller.token };
}

/** The names in a folder as the caller sees them, in their order. */
export async function namesIn(caller: Api, path: string): Promise<unknown[]> {
  const content = at(await caller.call('/api/fs/list', { path }), 'content');
  return Array.isArray(content) ? content.map((entry) => at(entry, 'name')) : [];
}

/** Path and query of a file's `raw_url`. */
export async function rawPath(caller: Api, path: string, password = ''): Promise<string> {
  const url = at(await caller.call('/api/fs/get', { path, password }), 'raw_url');
  if (typeof url !== 'string') throw new Error(`${path} has no raw_url`);
  const { pathname, search } = new URL(url);
  return pathname + search;
}

/** The bytes behind a file's `raw_url`. */
export async function fetchFile(caller: Api, base: string, path: string, headers: Record<string, string> = {}): Promise<HttpAnswer> {
  return httpRequest(base, { path: await rawPath(caller, path), headers });
}
