import type { Answer, Egress, GuardedClient, GuardedRequest, RequestBody } from '@wharf/egress';
import { AppError } from '@wharf/errors';
import { type AnsweredFile, answeredRange } from '../../driver-contract/answered-range.ts';
import { boundedBody, drain, requireAllSent } from '../../driver-contract/answers.ts';
import type { CallOptions, Hashes, WriteOptions } from '../../driver-contract/storage-driver.ts';
import { badAnswer, storageError, throwIfAborted } from '../../driver-contract/storage-error.ts';
import { readChildren } from '../../driver-contract/xml.ts';
import type { WebdavSettings } from './config.ts';
import { loginFailed, toAppError } from './errors.ts';
import { Login } from './login.ts';
import {
  dateOf,
  ENTRY_PROPERTIES,
  hashesOf,
  PICTURED_PROPERTIES,
  type Resource,
  type Response,
  ROOT_PROPERTIES,
  readResponse,
  segmentsOf,
  versionOf,
} from './resources.ts';

/** A path below the root: `/`, or `/a/b`. Temporary names of ours are places too. */
export type Place = string;

/** An entry of a listed folder. */
export interface ListedResource {
  /** As the server wrote it, decoded; undefined: the folder itself. */
  readonly name: string | undefined;
  readonly resource: Resource;
}

export interface Quota {
  readonly availableBytes: number;
  readonly usedBytes: number;
}

/** A body that waits to be read, and what its head says of the file. */
export interface FileBody extends AnsweredFile {
  readonly resource: Resource;
}

/** What goes along with a new file. */
export interface NewFile extends Pick<WriteOptions, 'sizeBytes' | 'modifiedAt'> {
  /** One that the server shall compare. */
  readonly expectedHashes?: Hashes | undefined;
}

interface PlaceCall extends CallOptions {
  /** Some servers look only then whether there is anything to move, before they remove what it is to replace. */
  readonly ifThere?: boolean;
}

/** A request to an address of the server. */
export interface Ask extends Pick<GuardedRequest, 'isBulk' | 'headersTimeoutMs' | 'signal'> {
  readonly method: string;
  readonly url: URL;
  readonly headers?: Readonly<Record<string, string | undefined>>;
  readonly body?: RequestBody;
}

/** One `response` of a `multistatus`. */
const MAX_RESPONSE_BYTES = 256 * 1024;
/** The system takes megabytes of a body before they have left: on a slow line the server answers much later. */
export const UPLOAD_ANSWER_MS = 120_000;
/** Copies, moves and removals of whole trees take their time. */
export const SLOW_MS = 600_000;
const MAX_CONNECTIONS = 32;
const MAX_REDIRECTS = 3;
const REDIRECTS: readonly number[] = [301, 302, 303, 307, 308];

/** The verbs that a storage takes. The password goes to the origin of the address only. */
export class WebdavClient {
  readonly #settings: WebdavSettings;
  readonly #egress: Egress;
  readonly #client: GuardedClient;
  readonly #login: Login;
  readonly #rootSegments: readonly string[];
  #isClosed = false;
  #properties = ENTRY_PROPERTIES;

  constructor(settings: WebdavSettings, egress: Egress) {
    this.#settings = settings;
    this.#egress = egress;
    this.#login = new Login(settings);
    this.#rootSegments = segmentsOf(settings.root.pathname) ?? [];
    egress.parseUrl(settings.root.href);
    this.#client = egress.openClient({
      maxConnections: MAX_CONNECTIONS,
      verifiesTls: settings.verifiesTls,
      certificate: settings.certificate,
    });
  }

  /** From now on entries say whether there is a picture of them. */
  askForPreviews(): void {
    this.#properties = PICTURED_PROPERTIES;
  }

  /** Whether the server has asked who we are. */
  get hasLogin(): boolean {
    return this.#login.isAsked;
  }

  /** @throws AppError INVALID_ARGUMENT for a place that no address leads to */
  urlOf(place: Place, isFolder = false): URL {
    const path = `${this.#settings.root.pathname.slice(0, -1)}${place.split('/').map(encodeURIComponent).join('/')}`;
    const url = new URL(this.#settings.root);
    url.pathname = isFolder && !path.endsWith('/') ? `${path}/` : path;
    // Parsers of addresses take `.` and `..` for steps.
    if (!url.pathname.startsWith(path)) throw storageError('INVALID_ARGUMENT');
    return url;
  }

  /** The root, with its quota where the server tells. */
  async findRoot({ signal }: CallOptions): Promise<Response | undefined> {
    return this.#first({ method: 'PROPFIND', url: this.urlOf('/'), headers: { Depth: '0' }, body: ROOT_PROPERTIES, signal });
  }

  async find(place: Place, { signal }: CallOptions): Promise<Resource | undefined> {
    const ask: Ask = { method: 'PROPFIND', url: this.urlOf(place), headers: { Depth: '0' }, body: this.#properties, signal };
    return (await this.#first(ask))?.resource;
  }

  /** What is in a folder, with the folder itself, as it comes. @throws AppError ENTRY_NOT_FOUND, at the first step */
  async *list(folder: Place, { signal }: CallOptions): AsyncGenerator<ListedResource, void> {
    const own = this.#segmentsOf(folder);
    for await (const { segments, resource } of this.#responsesIn(folder, signal)) {
      if (segments === undefined || resource === undefined || !isAtOrIn(own, segments)) continue;
      if (segments.length > own.length + 1) continue;
      yield { name: segments[own.length], resource };
    }
  }

  /**
   * Whether a server lists nothing but the folder itself. What has no name that could be listed here, as one that is no UTF-8, and what the server lets
   * nobody see, is in it too: a removal would take it along.
   */
  async isEmpty(folder: Place, { signal }: CallOptions): Promise<boolean> {
    const own = this.#segmentsOf(folder);
    for await (const { segments, resource } of this.#responsesIn(folder, signal)) {
      if (resource === undefined || segments?.length !== own.length || !isAtOrIn(own, segments)) return false;
    }
    return true;
  }

  /**
   * @param start bytes are asked for from here on, @param end up to here; undefined: to the end
   * @throws AppError ENTRY_NOT_FOUND | RANGE_NOT_SATISFIABLE
   */
  async get(place: Place, start: number, end: number | undefined, { signal }: CallOptions): Promise<FileBody> {
    const isWhole = start === 0 && end === undefined;
    const Range = isWhole ? undefined : `bytes=${start}-${end === undefined ? '' : end - 1}`;
    const headers = { Range, 'Accept-Encoding': 'identity' };
    const answer = await this.ask({ method: 'GET', url: this.urlOf(place), headers, signal, isBulk: true });
    try {
      return bodyOf(answer, start, end);
    } catch (error) {
      answer.destroy();
      throw error;
    }
  }

  /** @returns whether the server keeps the date that it was told */
  async put(place: Place, content: AsyncIterable<Uint8Array>, file: NewFile, { signal }: CallOptions): Promise<boolean> {
    const { sizeBytes } = file;
    const answer = await this.ask({
      method: 'PUT',
      url: this.urlOf(place),
      headers: {
        'Content-Type': 'application/octet-stream',
        'Content-Length': sizeBytes === undefined ? undefined : String(sizeBytes),
        ...fileHeaders(file),
      },
      body: content,
      headersTimeoutMs: UPLOAD_ANSWER_MS,
      signal,
    });
    await drain(answer, signal);
    return answer.headers['x-oc-mtime'] === 'accepted';
  }

  /** @returns false: something has the name. @throws AppError ENTRY_NOT_FOUND: the folder above is not there */
  async makeFolder(place: Place, { signal }: CallOptions): Promise<boolean> {
    const answer = await this.ask({ method: 'MKCOL', url: this.urlOf(place, true), signal }, [405]);
    await drain(answer, signal);
    return answer.statusCode !== 405;
  }

  /** A folder goes with all it holds. @throws AppError ENTRY_NOT_FOUND */
  async delete(place: Place, isFolder: boolean, { signal }: CallOptions): Promise<void> {
    await this.#change({ method: 'DELETE', url: this.urlOf(place, isFolder), signal });
  }

  /** @throws AppError STALE_VERSION: without `overwrite`, something has the name; with `ifThere`, nothing is at `from` */
  async place(
    how: 'MOVE' | 'COPY',
    from: Place,
    to: Place,
    isFolder: boolean,
    overwrite: boolean,
    { signal, ifThere = false }: PlaceCall,
  ): Promise<void> {
    const headers = {
      Destination: this.urlOf(to, isFolder).href,
      Overwrite: overwrite ? 'T' : 'F',
      Depth: isFolder ? 'infinity' : undefined,
      'If-Match': ifThere ? '*' : undefined,
    };
    await this.#change({ method: how, url: this.urlOf(from, isFolder), headers, signal });
  }

  /** Ends what runs. Safe to call twice. */
  close(): void {
    this.#isClosed = true;
    this.#client.close();
  }

  #segmentsOf(folder: Place): readonly string[] {
    return [...this.#rootSegments, ...folder.split('/').filter((segment) => segment !== '')];
  }

  /** Of a folder, and of all that is in it. */
  #responsesIn(folder: Place, signal: AbortSignal | undefined): AsyncGenerator<Response, void> {
    return this.#responses({ method: 'PROPFIND', url: this.urlOf(folder, true), headers: { Depth: '1' }, body: this.#properties, signal });
  }

  async #first(ask: Ask): Promise<Response | undefined> {
    try {
      let found: Response | undefined;
      // Read to its end, so that its connection can be used again.
      for await (const response of this.#responses(ask)) {
        if (found !== undefined) throw badAnswer('more than one entry');
        found = response;
      }
      if (found === undefined) throw badAnswer('no entry');
      return found.status === 404 ? undefined : found;
    } catch (error) {
      // Apache does not understand what is below a file.
      if (AppError.is(error, 'ENTRY_NOT_FOUND') || AppError.is(error, 'INVALID_ARGUMENT')) return undefined;
      throw error;
    }
  }

  async *#responses(ask: Ask): AsyncGenerator<Response, void> {
    const headers = { ...ask.headers, 'Content-Type': 'application/xml; charset=utf-8' };
    const answer = await this.ask({ ...ask, headers });
    if (answer.statusCode !== 207) {
      answer.destroy();
      throw badAnswer(`${answer.statusCode} in the place of 207`);
    }
    for await (const element of readChildren(boundedBody(answer, ask.signal), 'multistatus', MAX_RESPONSE_BYTES)) {
      if (element.name === 'response') yield readResponse(element);
    }
  }

  /** What fails for a part of a tree is told in an answer that begins as a success. */
  async #change(ask: Ask): Promise<void> {
    const answer = await this.ask({ ...ask, headersTimeoutMs: SLOW_MS });
    if (answer.statusCode !== 207) return drain(answer, ask.signal);
    for await (const element of readChildren(boundedBody(answer, ask.signal), 'multistatus', MAX_RESPONSE_BYTES)) {
      const { status } = element.name === 'response' ? readResponse(element) : { status: undefined };
      if (status !== undefined && status >= 300) throw toAppError(status);
    }
  }

  /** @throws AppError as errors.ts says, for every answer that is no success and not `expected` */
  async ask(ask: Ask, expected: readonly number[] = []): Promise<Answer> {
    let { url } = ask;
    let hasLoggedIn = false;
    for (let redirects = 0; ; ) {
      throwIfAborted(ask.signal);
      if (this.#isClosed) throw storageError('STORAGE_UNAVAILABLE');
      const answer = await this.#send(ask, url);
      if (this.#isClosed) {
        answer.destroy();
        throw storageError('STORAGE_UNAVAILABLE');
      }
      const { statusCode: status = 0, headers } = answer;
      if (status >= 200 && status < 300) requireAllSent(answer);
      if ((status >= 200 && status < 300) || expected.includes(status)) return answer;
      await drain(answer, ask.signal);
      const isRepeatable = ask.body === undefined || typeof ask.body === 'string';
      if (status === 401 && url.origin === this.#settings.root.origin) {
        const mayAskAgain = this.#login.learn(headers['www-authenticate']);
        if (!mayAskAgain || hasLoggedIn) throw loginFailed(new Error('the server answered 401'));
        // What has been sent of a content is gone; its sender may send it again.
        if (!isRepeatable) throw storageError('STORAGE_UNAVAILABLE', new Error('the server asked for another login'));
        hasLoggedIn = true;
        continue;
      }
      const next = REDIRECTS.includes(status) && redirects < MAX_REDIRECTS ? this.#redirect(ask, url, headers.location) : undefined;
      if (next === undefined) throw toAppError(status, headers['retry-after']);
      redirects += 1;
      url = next;
    }
  }

  #send(ask: Ask, url: URL): Promise<Answer> {
    const { method, headers = {}, signal, body, isBulk, headersTimeoutMs } = ask;
    const isOwn = url.origin === this.#settings.root.origin;
    const Authorization = isOwn ? this.#login.header(method, url.pathname + url.search) : undefined;
    const set = Object.entries({ ...headers, Authorization }).filter((header): header is [string, string] => header[1] !== undefined);
    return this.#client.request({
      url,
      method,
      signal,
      headers: Object.fromEntries(set),
      body,
      ...(isBulk !== undefined && { isBulk }),
      ...(headersTimeoutMs !== undefined && { headersTimeoutMs }),
    });
  }

  /**
   * Where to look instead: for what only reads, elsewhere at the same origin; for content, at a host that the admin named, over TLS where the
   * address is. Undefined: not followed. A slash at the end says that a file was a folder.
   */
  #redirect({ method }: Ask, from: URL, location: string | undefined): URL | undefined {
    if (location === undefined || !['GET', 'PROPFIND'].includes(method)) return undefined;
    const url = URL.parse(location, from.href);
    if (url?.username !== '' || url.password !== '') return undefined;
    if (url.origin === this.#settings.root.origin) {
      return method === 'GET' && url.pathname === `${from.pathname}/` ? undefined : this.#egress.parseUrl(url.href);
    }
    const isAllowed = this.#settings.redirectHosts.has(url.host) && (url.protocol === 'https:' || this.#settings.root.protocol === 'http:');
    return method === 'GET' && isAllowed ? this.#egress.parseUrl(url.href) : undefined;
  }
}

function isAtOrIn(folder: readonly string[], segments: readonly string[]): boolean {
  return folder.every((segment, index) => segments[index] === segment);
}

/** What a server is told of a new file beside its content. */
export function fileHeaders({ modifiedAt, expectedHashes = {} }: NewFile): Record<string, string | undefined> {
  const [hash] = (['sha1', 'md5', 'sha256'] as const).filter((name) => expectedHashes[name] !== undefined);
  return {
    'X-OC-Mtime': modifiedAt && String(Math.max(0, Math.floor(modifiedAt.getTime() / 1000))),
    'OC-Checksum': hash && `${hash.toUpperCase()}:${expectedHashes[hash]?.toLowerCase()}`,
  };
}

function bodyOf(answer: Answer, start: number, end: number | undefined): FileBody {
  const body = answeredRange(answer, start, end);
  const { headers } = answer;
  const resource: Resource = {
    isFolder: false,
    sizeBytes: body.sizeBytes,
    modifiedAt: dateOf(headers['last-modified']),
    version: versionOf(headers.etag),
    hashes: hashesOf([headers['oc-checksum'] ?? ''].flat().join(' ')),
  };
  return { ...body, resource };
}
