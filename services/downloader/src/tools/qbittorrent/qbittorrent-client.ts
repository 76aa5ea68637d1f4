import { AppError } from '@wharf/errors';
import type { ToolAddress } from '../../domain/tool-address.ts';
import type { AskTool, ToolAnswer, ToolRequest } from '../ask-tool.ts';

type CallOptions = Pick<ToolRequest, 'timeoutMs' | 'signal'>;

/**
 * The Web API of qBittorrent, version 2 (4.1 to 5.x). It logs in when it has to: with the first call, and again when the session has ended.
 *
 * All throw AppError STORAGE_LOGIN_FAILED (user or password) | UNSUPPORTED_OPERATION (what answers is not qBittorrent) |
 * FAILED_PRECONDITION with `details.status` (it refused the call) | and what AskTool throws.
 */
export interface QbittorrentClient {
  /** @param path below `/api/v2/`, such as `torrents/info`. */
  get(path: string, query?: Readonly<Record<string, string>>, options?: CallOptions): Promise<string>;
  /** Sends a form; a FormData is sent as multipart, for torrent files. */
  post(path: string, form: Readonly<Record<string, string>> | FormData, options?: CallOptions): Promise<string>;
  /** As it writes it, such as `v4.5.2`. */
  version(options?: CallOptions): Promise<string>;
}

/** The major version of the Web API that is spoken here (qBittorrent's wiki, "WebUI API"). */
const API_MAJOR = '2';
const SPOKEN_API = new RegExp(`^${API_MAJOR}(?:\\.|$)`);

export function createQbittorrentClient(ask: AskTool, address: ToolAddress): QbittorrentClient {
  const base = new URL(address.url);
  base.search = '';
  if (!base.pathname.endsWith('/')) base.pathname += '/';
  // Without them its protection against foreign sites refuses whatever changes something.
  const origin = { Origin: base.origin, Referer: base.href };
  let cookie: string | undefined;

  const send = (path: string, request: Omit<ToolRequest, 'headers'>, headers: Record<string, string> = {}) =>
    ask(new URL(`api/v2/${path}`, base), {
      ...request,
      headers: { ...origin, ...headers, ...(cookie === undefined ? {} : { Cookie: cookie }) },
    });

  const login = async (options: CallOptions) => {
    cookie = undefined;
    const { username, password } = address;
    const answer = await send(
      'auth/login',
      { ...options, method: 'POST', body: new URLSearchParams({ username, password }).toString() },
      { 'Content-Type': 'application/x-www-form-urlencoded' },
    );
    // 4.x says `Fails.` with 200, 5.2 says 401; it bans an address with 403.
    if (answer.status === 401 || (answer.status === 200 && answer.body.trim() === 'Fails.')) throw wrongPassword(address);
    if (answer.status === 403) throw new AppError('STORAGE_LOGIN_FAILED', 'it refuses our address after too many failed logins');
    if (answer.status !== 204 && !(answer.status === 200 && answer.body.trim() === 'Ok.')) throw notQbittorrent();
    cookie = (answer.headers['set-cookie'] ?? []).map((line) => line.split(';')[0] ?? '').join('; ');
  };

  const call = async (path: string, request: Omit<ToolRequest, 'headers'>, headers?: Record<string, string>): Promise<string> => {
    const { timeoutMs, signal } = request;
    const options = { ...(timeoutMs === undefined ? {} : { timeoutMs }), ...(signal === undefined ? {} : { signal }) };
    const hasLogin = address.username !== '' || address.password !== '';
    const isNew = cookie === undefined;
    if (isNew && hasLogin) await login(options);
    let answer = await send(path, request, headers);
    if (answer.status === 403 && hasLogin && !isNew) {
      await login(options);
      answer = await send(path, request, headers);
    }
    return bodyOf(answer, path, address);
  };

  const client: QbittorrentClient = {
    get: (path, query = {}, options = {}) => {
      const search = new URLSearchParams(query).toString();
      return call(search === '' ? path : `${path}?${search}`, { ...options, method: 'GET' });
    },
    async post(path, form, options = {}) {
      const encoded = new Response(form instanceof FormData ? form : new URLSearchParams(form));
      const body = new Uint8Array(await encoded.arrayBuffer());
      return call(path, { ...options, method: 'POST', body }, { 'Content-Type': encoded.headers.get('content-type') ?? '' });
    },
    async version(options) {
      const version = await client.get('app/version', {}, options);
      if (!/^v?\d+\.\d[\w.+-]{0,32}$/.test(version)) throw notQbittorrent();
      const api = await client.get('app/webapiVersion', {}, options);
      if (!SPOKEN_API.test(api))
        throw new AppError(
          'UNSUPPORTED_OPERATION',
          `its Web API has version ${api.slice(0, 32)}; ${API_MAJOR} is needed (qBittorrent 4.1 or later)`,
        );
      return version;
    },
  };
  return client;
}

function bodyOf(answer: ToolAnswer, path: string, address: ToolAddress): string {
  // 5.2 also says 202 (taken, not yet there) and 204 (nothing to tell).
  if ([200, 202, 204].includes(answer.status)) return answer.body;
  if (answer.status === 401 || answer.status === 403) throw wrongPassword(address);
  if (answer.status === 404 && path.startsWith('app/')) throw notQbittorrent();
  if (answer.status >= 400 && answer.status < 500)
    throw new AppError('FAILED_PRECONDITION', `qBittorrent refused ${path.split('?')[0]} with ${answer.status}`, {
      details: { status: answer.status },
    });
  throw notQbittorrent();
}

function wrongPassword({ username, password }: ToolAddress): AppError {
  const isGiven = username !== '' || password !== '';
  return new AppError('STORAGE_LOGIN_FAILED', isGiven ? 'the user or the password is wrong' : 'it asks for a user and a password');
}

function notQbittorrent(): AppError {
  return new AppError('UNSUPPORTED_OPERATION', 'what answers there is not the Web API of qBittorrent 4.1 or later');
}
