import type { OutgoingHttpHeaders } from 'node:http';
import { type HttpAnswer, httpRequest } from './http.ts';

/** The `{ code, message, data }` of an `/api` answer, with its HTTP side. */
export interface Envelope {
  readonly status: number;
  readonly headers: HttpAnswer['headers'];
  readonly code: number;
  readonly message: string;
  readonly data: unknown;
}

export interface Api {
  readonly token: string | undefined;
  /** @param path as it goes over the wire, with its query. */
  get(path: string, headers?: OutgoingHttpHeaders): Promise<Envelope>;
  /** Sends `body` as JSON; without one an empty body and no content type. */
  post(path: string, body?: unknown, headers?: OutgoingHttpHeaders): Promise<Envelope>;
  /** Like `post`; throws unless the envelope says 200, and answers its `data`. */
  call(path: string, body?: unknown): Promise<unknown>;
}

/** A caller of the JSON API; `token` goes raw into the Authorization header. Answers that are no envelope are errors. */
export function api(base: string, token?: string): Api {
  const authorization = token === undefined ? {} : { authorization: token };
  const send = async (method: string, path: string, headers: OutgoingHttpHeaders, body?: string) =>
    parseEnvelope(
      `${method} ${path}`,
      await httpRequest(base, { method, path, headers: { ...authorization, ...headers }, ...(body === undefined ? {} : { body }) }),
    );
  const post: Api['post'] = (path, body, headers = {}) =>
    body === undefined
      ? send('POST', path, headers)
      : send('POST', path, { 'content-type': 'application/json', ...headers }, JSON.stringify(body));
  return {
    token,
    get: (path, headers = {}) => send('GET', path, headers),
    post,
    async call(path, body) {
      const answer = await post(path, body);
      if (answer.code !== 200) throw new Error(`POST ${path} answered ${answer.code}: ${answer.message}`);
      return answer.data;
    },
  };
}

/** Logs in by name and password. Throws with the message of the answer when that is refused. */
export async function login(base: string, username: string, password: string): Promise<Api> {
  const token = at(await api(base).call('/api/auth/login', { username, password }), 'token');
  if (typeof token !== 'string') throw new Error('the login answered no token');
  return api(base, token);
}

/** Walks into parsed JSON: `at(data, 'content', 0, 'name')`; `undefined` where there is nothing. */
export function at(value: unknown, ...steps: (string | number)[]): unknown {
  let here = value;
  for (const step of steps)
    here = typeof here === 'object' && here !== null && Object.hasOwn(here, step) ? Reflect.get(here, step) : undefined;
  return here;
}

function parseEnvelope(what: string, answer: HttpAnswer): Envelope {
  const shown = () => `${what} answered ${answer.status} without an envelope: ${answer.text().slice(0, 500)}`;
  let body: unknown;
  try {
    body = answer.json();
  } catch (error) {
    throw new Error(shown(), { cause: error });
  }
  const [code, message] = [at(body, 'code'), at(body, 'message')];
  if (typeof code !== 'number' || typeof message !== 'string') throw new Error(shown());
  return { status: answer.status, headers: answer.headers, code, message, data: at(body, 'data') };
}
