import type { Answer, Egress, GuardedClient, GuardedRequest } from '@wharf/egress';
import { AppError } from '@wharf/errors';
import { z } from 'zod';
import { type AnsweredFile, answeredRange } from '../../driver-contract/answered-range.ts';
import { boundedBody, drain, readThumbnail, requireAllSent } from '../../driver-contract/answers.ts';
import type { Trail } from '../../driver-contract/open-context.ts';
import type { CallOptions, Hashes, LinkClient } from '../../driver-contract/storage-driver.ts';
import {
  badAnswer,
  isNoStorage,
  isNotThere,
  largeThumbnail,
  saidOfPart,
  storageError,
  throwIfAborted,
} from '../../driver-contract/storage-error.ts';
import type { SameApiSettings } from './config.ts';
import { type RemoteDetail, type RemoteEntry, readDetail, readEntry } from './entries.ts';
import { type Envelope, readEnvelope } from './envelope.ts';
import { noStorage, toAppError, toDownloadError, toPictureError, toStatusError } from './errors.ts';

/** Of whom the other gateway takes us for. */
export interface Self {
  readonly username: string;
  readonly role: number;
  /** Which installation of Wharf it is; undefined: something else. */
  readonly installation: string | undefined;
}

/** Whom the calls of a storage come from. */
export interface Session {
  /** Runs a call with the token of the moment; undefined: as the guest. Where the token has ended and a login gives another, it runs once more. */
  use<Result>(call: (token: string | undefined) => Promise<Result>, options: CallOptions): Promise<Result>;
}

/** What goes along with a new file. */
export interface NewFile {
  readonly overwrite: boolean;
  readonly sizeBytes: number | undefined;
  readonly modifiedAt: Date | undefined;
  readonly expectedHashes: Hashes | undefined;
  /** To a Wharf: the ETag of the file that it replaces, and no other; empty: whatever is there. */
  readonly replaces?: string;
  /** To a Wharf: what is sent again on its way is stored once. */
  readonly onceKey?: string | undefined;
  /** The content goes with its length: its end cannot be held back then. */
  readonly isOfLength?: boolean;
}

interface Ask extends Pick<GuardedRequest, 'body' | 'headersTimeoutMs' | 'signal'> {
  readonly method: 'GET' | 'POST' | 'PUT';
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** The list whose items come one by one. */
  readonly listed?: string;
  /** For no one call. */
  readonly isOwn?: boolean;
}

const MAX_CONNECTIONS = 32;
const MAX_REDIRECTS = 5;
const REDIRECTS: readonly number[] = [301, 302, 303, 307, 308];
/** The system takes megabytes of a body before they have left, and the gateway stores them before it answers. */
const UPLOAD_ANSWER_MS = 120_000;
/** Copies, moves and removals of whole trees take their time. */
const SLOW_MS = 600_000;
const TASK_LOOK_MS = { first: 100, last: 2_000 } as const;
/** So long a task is waited for: as a copy or a removal in whole may take. */
const TASK_MS = 3_600_000;
/** Of tasks (docs/api-family.md): done, and those that come to nothing. */
const SUCCEEDED = 2;
const ENDED: readonly number[] = [4, 7];

const selfShape = z.object({ username: z.string(), role: z.number() });
/** It is kept with the storage, and travels in a header. */
const loginShape = z.object({ token: z.string().regex(/^[\x21-\x7e]{1,8192}$/) });
const taskShape = z.object({ id: z.string(), state: z.number() });
const queuedShape = z.object({ tasks: z.array(taskShape).nullish() }).nullish();

/** The calls of the family's API that a storage takes. The token goes to the origin of `url` only. */
export class GatewayClient {
  readonly #settings: SameApiSettings;
  readonly #egress: Egress;
  readonly #client: GuardedClient;
  /** For addresses of files that the gateway names and nobody here has entered. */
  readonly #public: Egress;
  readonly #publicClient: GuardedClient;
  readonly #trail: Trail;
  readonly #taskMs: number;
  #session: Session | undefined;
  #isClosed = false;

  /** @param taskMs another time than the standard one is given by tests only */
  constructor(settings: SameApiSettings, egress: Egress, trail: Trail, taskMs = TASK_MS) {
    this.#taskMs = taskMs;
    this.#settings = settings;
    this.#egress = egress;
    this.#trail = trail;
    egress.parseUrl(settings.base.href);
    this.#client = egress.openClient({ maxConnections: MAX_CONNECTIONS });
    this.#public = egress.toPublic();
    this.#publicClient = this.#public.openClient({ maxConnections: MAX_CONNECTIONS });
  }

  /** Whose token each call is sent with from now on. */
  useSession(session: Session): void {
    this.#session = session;
  }

  /** @throws AppError STORAGE_LOGIN_FAILED: name or password are refused, or a second factor is asked for */
  async login(username: string, password: string, { signal }: CallOptions): Promise<string> {
    const body = JSON.stringify({ username, password });
    const { data } = await this.#send({ method: 'POST', path: '/api/auth/login', body, signal, isOwn: true }, undefined);
    return parsed(loginShape, data).token;
  }

  async self({ signal }: CallOptions): Promise<Self> {
    let installation: string | undefined;
    const { data } = await this.#ask({ method: 'GET', path: '/api/me', signal, isOwn: true }, (headers) => {
      installation = this.#trail.installationOf(headers);
    });
    return { ...parsed(selfShape, data), installation };
  }

  /** Whether the gateway lets others mount it as its guest. */
  async lets({ signal }: CallOptions): Promise<boolean> {
    const { data } = await this.#ask({ method: 'GET', path: '/api/public/settings', signal, isOwn: true });
    return z.object({ allow_mounted: z.literal('true') }).safeParse(data).success;
  }

  /** @param client for whom its address is asked */
  async find(path: string, { signal }: CallOptions, client?: LinkClient): Promise<RemoteDetail | undefined> {
    try {
      return await this.get(path, { signal }, client);
    } catch (error) {
      if (isNotThere(error)) return undefined;
      throw error;
    }
  }

  /** What is there now, where a Wharf may keep what it saw before; with its ETag. */
  async look(path: string, { signal }: CallOptions): Promise<RemoteDetail | undefined> {
    try {
      return await this.get(path, { signal }, undefined, true);
    } catch (error) {
      if (isNotThere(error)) return undefined;
      throw error;
    }
  }

  /** @param refresh as `look` has it. @throws AppError ENTRY_NOT_FOUND */
  async get(path: string, { signal }: CallOptions, client?: LinkClient, refresh?: true): Promise<RemoteDetail> {
    const body = JSON.stringify({ path: this.#there(path), password: this.#settings.folderPassword, refresh });
    const ask: Ask = { method: 'POST', path: '/api/fs/get', body, signal, headers: this.#clientHeaders(client), listed: 'related' };
    const detail = readDetail((await this.#ask(ask)).data);
    if (detail === undefined) throw badAnswer('no entry');
    return detail;
  }

  /**
   * What is in a folder, as it comes.
   *
   * @param refresh whether the gateway is to look, where it may know. @throws AppError ENTRY_NOT_FOUND | NOT_A_DIRECTORY, at the first step
   */
  async *list(path: string, { signal }: CallOptions, refresh = this.#settings.refreshes): AsyncGenerator<RemoteEntry, void> {
    const asked = { path: this.#there(path), password: this.#settings.folderPassword, page: 1, per_page: 0, refresh };
    const ask: Ask = { method: 'POST', path: '/api/fs/list', body: JSON.stringify(asked), signal, listed: 'content' };
    const answer = await this.#withToken(signal, async (token) => {
      // What is wrong with the login stands at the begin: nothing has been handed out by then.
      const items = this.#items(ask, token);
      const first = await items.next();
      return { items, first };
    });
    try {
      for (let step = answer.first; step.done !== true; step = await answer.items.next()) {
        const entry = readEntry(step.value);
        if (entry === undefined) throw badAnswer('no entry');
        yield entry;
      }
    } finally {
      await answer.items.return(undefined as never);
    }
  }

  async makeFolder(path: string, { signal }: CallOptions): Promise<void> {
    await this.#change('/api/fs/mkdir', { path: this.#there(path) }, signal);
  }

  /** With all it holds. Nothing there is success. @throws AppError FAILED_PRECONDITION: no storage is there now */
  async remove(folder: string, name: string, { signal }: CallOptions): Promise<void> {
    await this.#removeBy('/api/fs/remove', folder, name, signal);
  }

  /**
   * Of a Wharf: a folder goes only if it is empty, which the gateway decides, as its listings do not show all. Another call, not another field: who does not know
   * it removes nothing.
   *
   * @throws AppError DIRECTORY_NOT_EMPTY, also where an earlier Wharf cannot tell | FAILED_PRECONDITION: no storage is there now
   */
  async removeIfEmpty(folder: string, name: string, { signal }: CallOptions): Promise<void> {
    try {
      await this.#removeBy('/api/fs/remove_if_empty', folder, name, signal);
    } catch (error) {
      // What is not there is success: it is the call that is not.
      throw AppError.is(error, 'ENTRY_NOT_FOUND') ? storageError('DIRECTORY_NOT_EMPTY', error) : error;
    }
  }

  async #removeBy(route: string, folder: string, name: string, signal: AbortSignal | undefined): Promise<void> {
    try {
      await this.#change(route, { dir: this.#there(folder), names: [name] }, signal);
    } catch (error) {
      throw isNoStorage(error) ? noStorage() : error;
    }
  }

  /** Gives an entry another name in its folder. */
  async rename(path: string, name: string, overwrite: boolean, { signal }: CallOptions): Promise<void> {
    await this.#change('/api/fs/rename', { path: this.#there(path), name, overwrite }, signal);
  }

  /** Moves or copies an entry into another folder under its own name. Where the gateway makes a task of it, the task is waited for. */
  async place(how: 'move' | 'copy', from: string, to: string, name: string, overwrite: boolean, call: CallOptions): Promise<void> {
    const asked = { src_dir: this.#there(from), dst_dir: this.#there(to), names: [name], overwrite };
    const data = await this.#change(`/api/fs/${how}`, asked, call.signal);
    const { data: queued } = queuedShape.safeParse(data);
    // All of them have that time together: a gateway may say any number.
    const untilMs = performance.now() + this.#taskMs;
    for (const { id } of queued?.tasks ?? []) await this.#waitFor(how, id, untilMs, call);
  }

  /** @param content ends when the file may have its name */
  async put(path: string, content: AsyncIterable<Uint8Array>, file: NewFile, { signal }: CallOptions): Promise<void> {
    const { sizeBytes, modifiedAt, expectedHashes = {}, overwrite, replaces = '', onceKey, isOfLength = false } = file;
    const hashes = Object.entries(expectedHashes).map(([name, value]) => [`X-File-${name}`, value.toLowerCase()]);
    let hasBegun = false;
    const body = (async function* () {
      hasBegun = true;
      yield* content;
    })();
    const ask: Ask = {
      method: 'PUT',
      path: '/api/fs/put',
      headers: {
        'Content-Type': 'application/octet-stream',
        'File-Path': this.#there(path).split('/').map(encodeURIComponent).join('/'),
        'As-Task': 'false',
        Overwrite: String(overwrite),
        ...(replaces !== '' && { 'If-Match': replaces, 'Keep-Last-Modified': String(modifiedAt !== undefined) }),
        ...(onceKey !== undefined && { 'Idempotency-Key': onceKey }),
        ...(this.#settings.folderPassword !== '' && { Password: latin1(this.#settings.folderPassword) }),
        ...(sizeBytes !== undefined && { [isOfLength ? 'Content-Length' : 'X-File-Size']: String(sizeBytes) }),
        ...(modifiedAt && { 'Last-Modified': String(Math.max(0, Math.floor(modifiedAt.getTime()))) }),
        ...Object.fromEntries(hashes),
      },
      body,
      signal,
      headersTimeoutMs: UPLOAD_ANSWER_MS,
    };
    await this.#withToken(signal, async (token) => {
      // What was sent is gone; its sender may send it again.
      if (hasBegun) throw storageError('STORAGE_UNAVAILABLE', new Error('the gateway asked for another login'));
      await this.#send(ask, token);
    });
  }

  /**
   * The bytes of a file from its address. That is followed with no token, and from HTTPS to HTTP only where the gateway itself names it so.
   *
   * @param there the size that the gateway knows, too: what comes in chunks says none
   * @param end exclusive; undefined: to the end
   * @param toError what a status that is no success means
   */
  async download(
    { rawUrl, sizeBytes }: Pick<RemoteDetail, 'rawUrl'> & Partial<Pick<RemoteDetail, 'sizeBytes'>>,
    start: number,
    end: number | undefined,
    { signal }: CallOptions,
    toError = toDownloadError,
  ): Promise<AnsweredFile> {
    const isWhole = start === 0 && end === undefined;
    const range = isWhole ? {} : { Range: `bytes=${start}-${end === undefined ? '' : end - 1}` };
    let url = this.#ownAddress(rawUrl);
    for (let redirects = 0; ; redirects += 1) {
      this.#begin(signal);
      const isOwn = url.origin === this.#settings.base.origin;
      const egress = isOwn ? this.#egress : this.#public;
      const answer = await (isOwn ? this.#client : this.#publicClient).request({
        url: egress.parseUrl(url.href),
        headers: { ...range, 'Accept-Encoding': 'identity', ...(isOwn && this.#trail.headers()) },
        signal,
        isBulk: true,
      });
      const { statusCode = 0, headers } = answer;
      if (statusCode === 200 || statusCode === 206) return rangeOf(answer, start, end, sizeBytes);
      await drain(answer, signal);
      const next = REDIRECTS.includes(statusCode) && redirects < MAX_REDIRECTS ? URL.parse(headers.location ?? '', url.href) : null;
      if (!next || (url.protocol === 'https:' && next.protocol !== 'https:')) {
        throw toError(statusCode, headerOf(headers, 'x-error-code'));
      }
      url = next;
    }
  }

  /** The small picture that the gateway has of a file. @throws AppError UNSUPPORTED_OPERATION (none) | CONTENT_CORRUPT (it is too large) */
  async picture({ thumb }: RemoteDetail, maxBytes: number, { signal }: CallOptions): Promise<Uint8Array> {
    if (thumb === '') throw storageError('UNSUPPORTED_OPERATION');
    const { answer, sizeBytes = 0 } = await this.download({ rawUrl: thumb }, 0, undefined, { signal }, toPictureError);
    if (sizeBytes <= maxBytes) return readThumbnail(answer, signal, maxBytes);
    answer.destroy();
    throw largeThumbnail();
  }

  /** Ends what runs. Safe to call twice. */
  close(): void {
    this.#isClosed = true;
    this.#client.close();
    this.#publicClient.close();
  }

  /** A gateway behind a proxy may not know how it is reached: its own addresses are asked at the one that was entered. */
  #ownAddress(rawUrl: string): URL {
    const { base } = this.#settings;
    const url = rawUrl === '' ? null : URL.parse(rawUrl, base.href);
    if (!url) throw badAnswer('a file without an address');
    const isOwn = url.hostname === base.hostname && /^\/(?:.*\/)?[dp]\//.test(url.pathname);
    return isOwn && url.protocol === 'http:' && base.protocol === 'https:' ? new URL(`${url.pathname}${url.search}`, base.origin) : url;
  }

  #there(path: string): string {
    const { root } = this.#settings;
    if (root === '/') return path;
    return path === '/' ? root : `${root}${path}`;
  }

  #clientHeaders(client: LinkClient | undefined): Record<string, string> {
    const { passesAddress, passesAgent } = this.#settings;
    return {
      ...(client && passesAddress && { 'X-Forwarded-For': client.address, 'X-Real-Ip': client.address }),
      ...(client?.agent !== undefined && passesAgent && { 'User-Agent': printable(client.agent) }),
    };
  }

  async #change(path: string, asked: object, signal: AbortSignal | undefined): Promise<unknown> {
    const ask: Ask = { method: 'POST', path, body: JSON.stringify(asked), signal, headersTimeoutMs: SLOW_MS };
    return (await this.#ask(ask)).data;
  }

  /** @throws AppError STORAGE_UNAVAILABLE: the task came to nothing | DEADLINE_EXCEEDED: it takes too long, and may go on */
  async #waitFor(kind: string, id: string, untilMs: number, { signal }: CallOptions): Promise<void> {
    for (let pauseMs: number = TASK_LOOK_MS.first; ; pauseMs = Math.min(2 * pauseMs, TASK_LOOK_MS.last)) {
      const path = `/api/task/${kind}/info?tid=${encodeURIComponent(id)}`;
      const { state } = parsed(taskShape, (await this.#ask({ method: 'POST', path, signal })).data);
      if (state === SUCCEEDED) return;
      if (ENDED.includes(state)) throw saidOfPart(storageError('STORAGE_UNAVAILABLE', new Error(`the task ended with ${state}`)));
      // What is committed has no other end: its caller may have gone long ago.
      if (performance.now() >= untilMs) throw new AppError('DEADLINE_EXCEEDED', 'the task of the gateway takes too long');
      await pause(pauseMs, signal);
    }
  }

  async #ask(ask: Ask, onHead?: (headers: Answer['headers']) => void): Promise<Envelope> {
    return this.#withToken(ask.signal, (token) => this.#send(ask, token, onHead));
  }

  #withToken<Result>(signal: AbortSignal | undefined, call: (token: string | undefined) => Promise<Result>): Promise<Result> {
    return this.#session ? this.#session.use(call, { signal }) : call(undefined);
  }

  async #send(ask: Ask, token: string | undefined, onHead?: (headers: Answer['headers']) => void): Promise<Envelope> {
    const items = this.#items(ask, token, onHead);
    for (;;) {
      const step = await items.next();
      if (step.done === true) return step.value;
    }
  }

  /** Sends a request, and reads its answer: the items of a list, and then the rest. @throws AppError as errors.ts says, for all but a success */
  async *#items(
    { method, path, headers, body, listed = '', isOwn = false, signal, headersTimeoutMs }: Ask,
    token: string | undefined,
    onHead?: (headers: Answer['headers']) => void,
  ): AsyncGenerator<unknown, Envelope> {
    this.#begin(signal);
    const { base } = this.#settings;
    const answer = await this.#client.request({
      url: new URL(`${base.origin}${base.pathname === '/' ? '' : base.pathname}${path}`),
      method,
      headers: {
        ...(typeof body === 'string' && { 'Content-Type': 'application/json' }),
        ...(token !== undefined && { Authorization: token }),
        ...headers,
        ...(isOwn ? this.#trail.own : this.#trail.headers()),
      },
      body,
      signal,
      ...(headersTimeoutMs !== undefined && { headersTimeoutMs }),
    });
    if (this.#isClosed) {
      answer.destroy();
      throw storageError('STORAGE_UNAVAILABLE');
    }
    onHead?.(answer.headers);
    if (answer.statusCode !== 200) {
      await drain(answer, signal);
      throw toStatusError(answer.statusCode ?? 0);
    }
    const envelope = yield* readEnvelope(boundedBody(answer, signal), listed);
    const [name, retryAfter] = [headerOf(answer.headers, 'x-error-code'), headerOf(answer.headers, 'retry-after')];
    if (envelope.code !== 200) {
      const error = toAppError({ code: envelope.code, message: envelope.message, name, retryAfter });
      // What it says of us is so for all that is asked.
      throw isOwn || AppError.is(error, 'STORAGE_LOGIN_FAILED') ? error : saidOfPart(error);
    }
    requireAllSent(answer);
    return envelope;
  }

  #begin(signal: AbortSignal | undefined): void {
    throwIfAborted(signal);
    if (this.#isClosed) throw storageError('STORAGE_UNAVAILABLE');
  }
}

function rangeOf(answer: Answer, start: number, end: number | undefined, knownBytes: number | undefined): AnsweredFile {
  try {
    return answeredRange(answer, start, end, knownBytes);
  } catch (error) {
    answer.destroy();
    throw error;
  }
}

function parsed<Value>(shape: z.ZodType<Value>, data: unknown): Value {
  const result = shape.safeParse(data);
  if (!result.success) throw badAnswer('another shape of data');
  return result.data;
}

function headerOf(headers: Answer['headers'], name: string): string | undefined {
  const value = headers[name];
  return typeof value === 'string' ? value : undefined;
}

/** Headers travel as bytes; Node takes each character for one. */
function latin1(text: string): string {
  return Buffer.from(text, 'utf8').toString('latin1');
}

function printable(text: string): string {
  return text.replace(/[^\x20-\x7e]/g, '?');
}

async function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  await new Promise<void>((resolve) => {
    const timer = setTimeout(done, ms);
    function done() {
      clearTimeout(timer);
      signal?.removeEventListener('abort', done);
      resolve();
    }
    signal?.addEventListener('abort', done, { once: true });
  });
  throwIfAborted(signal);
}
