import { createHash } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import type { Answer, Egress, GuardedClient, GuardedRequest } from '@wharf/egress';
import { AppError } from '@wharf/errors';
import { ownText } from '@wharf/pace';
import { boundedBody, drain, readText, requireAllSent } from '../../driver-contract/answers.ts';
import { LATE_LOOKS_MS } from '../../driver-contract/really-renamed.ts';
import type { CallOptions, WriteOptions } from '../../driver-contract/storage-driver.ts';
import { badAnswer, storageError, throwIfAborted } from '../../driver-contract/storage-error.ts';
import { childrenOf, escapeXml, parseXml, readChildren, textOf, type XmlElement } from '../../driver-contract/xml.ts';
import type { S3Settings } from './config.ts';
import { type StoreAnswer, toAppError } from './errors.ts';
import { MAX_KEY_BYTES } from './keys.ts';
import { encodeText, linkUrl, objectUrl } from './object-url.ts';
import { createSigner, queryText, type Signer, UNSIGNED_PAYLOAD } from './signer.ts';
import { CLOCK_STEPS_MS, type ObjectHead, StoreClock, type Taken } from './store-clock.ts';

/** What a new object is told to be. */
export interface NewObject {
  readonly contentType: string;
  readonly draftId?: string | undefined;
  /** False: in the class that the store gives by itself, from which it can be copied at once. */
  readonly hasClass?: false;
}

export interface ListedObject extends ObjectHead {
  readonly key: string;
}

export interface ListedPage {
  readonly objects: readonly ListedObject[];
  /** Common prefixes, each with the delimiter at its end. */
  readonly prefixes: readonly string[];
  readonly isLast: boolean;
}

interface AnsweredPage extends ListedPage {
  /** What the next page is asked for with, in the second version of the call. */
  readonly next: string | undefined;
}

export interface ListOptions extends CallOptions {
  readonly prefix: string;
  readonly delimiter?: '/';
  /** Of one page; default 1,000, which is the most. */
  readonly maxKeys?: number;
}

/** Bytes that are uploaded, with what was computed of them. */
export interface Payload {
  readonly bytes: Uint8Array;
  /** In hexadecimal digits; undefined where TLS guards the bytes. */
  readonly sha256: string | undefined;
  /** In base64; undefined: not sent. */
  readonly md5: string | undefined;
}

/** A body that waits to be read, of the object as it was when it was asked for. */
export interface ObjectBody extends ObjectHead {
  readonly answer: Answer;
  /** Bytes [start, end) of the object. */
  readonly start: number;
  readonly end: number;
}

export interface UploadedPart {
  readonly number: number;
  readonly etag: string;
  readonly sizeBytes: number;
}

export interface StoredPart extends UploadedPart {
  readonly modifiedAt: Date;
}

export interface OpenUpload {
  readonly key: string;
  readonly id: string;
  readonly startedAt: Date;
}

/** Of a call that sends content. */
export type UploadOptions = CallOptions & Pick<WriteOptions, 'onProgress'>;

/** What an object may replace; without either, whatever has the key. Stores pass over conditions that they do not know, or refuse the call. */
export interface Condition {
  /** Only where there is none. */
  readonly isNew?: boolean;
  /** Only this version. */
  readonly over?: string | undefined;
}

type Ask = {
  readonly method: 'GET' | 'HEAD' | 'PUT' | 'POST' | 'DELETE';
  readonly key: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string | undefined>>;
  readonly payload?: Payload;
} & UploadOptions &
  Pick<GuardedRequest, 'isBulk' | 'headersTimeoutMs'>;

/** The most that a page has. */
export const PAGE_KEYS = 1000;
/** A page of the longest keys, each byte of them as three. */
const MAX_PAGE_BYTES = 8 * 1024 * 1024;
/** Pages of uploads that have not ended: a store could show them for ever. */
const MAX_UPLOAD_PAGES = 20;
/** What all of them hold together, in characters, each with what it takes beside its texts. */
const MAX_UPLOADS_LENGTH = 16 * 1024 * 1024;
const UPLOAD_LENGTH = 100;
/** A page of parts: a number, a size, a date and an ETag each. */
const MAX_PARTS_BYTES = 1024 * 1024;
/** What there is beside keys is in few of them. Some stores answer with more keys than they were asked for. */
const MAX_PAGE_CHILDREN = 2 * PAGE_KEYS;
/** What a page says beside them. */
const PAGE_FACTS: ReadonlySet<string> = new Set(['EncodingType', 'IsTruncated', 'NextContinuationToken']);
const MAX_SMALL_BYTES = 256 * 1024;
/** Of an upload: https://docs.aws.amazon.com/AmazonS3/latest/userguide/qfacts.html */
export const MAX_PARTS = 10_000;
/** Pieces in which a part goes out. */
const PIECE_BYTES = 256 * 1024;
/** The system takes megabytes of a part before they have left: on a slow line the store answers much later. */
const UPLOAD_ANSWER_MS = 120_000;
/** Copies inside the store, and putting parts together, take their time. */
const SLOW_MS = 600_000;
const MAX_CONNECTIONS = 32;
/** Copied with an object. */
const DRAFT_HEADER = 'x-amz-meta-wharf-draft';
const EMPTY_SHA256 = createHash('sha256').digest('hex');
/** What cannot stand in XML 1.0 in any form. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const NOT_IN_XML = /[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]/;

/** The calls of the protocol that a storage takes. Redirects are errors, so that keys and signatures go to the endpoint only. */
export class S3Client {
  readonly #settings: S3Settings;
  readonly #client: GuardedClient;
  readonly #signer: Signer;
  readonly #clock = new StoreClock();
  #isClosed = false;

  constructor(settings: S3Settings, egress: Egress) {
    this.#settings = settings;
    this.#signer = createSigner(settings);
    egress.parseUrl(objectUrl(settings, '').href);
    this.#client = egress.openClient({
      maxConnections: MAX_CONNECTIONS,
      verifiesTls: settings.verifiesTls,
      certificate: settings.certificate,
    });
  }

  /** @throws AppError ENTRY_NOT_FOUND */
  async head(key: string, { signal }: CallOptions): Promise<ObjectHead> {
    const answer = await this.#ask({ method: 'HEAD', key, signal }).catch((error: unknown) => this.#explainHead(error, key, signal));
    await drain(answer, signal);
    return headOf(answer, lengthOf(answer));
  }

  /** What HEAD is answered has no body to say whether the login or the right to this object is missing. @throws AppError always */
  async #explainHead(error: unknown, key: string, signal: AbortSignal | undefined): Promise<never> {
    if (!AppError.is(error, 'PERMISSION_DENIED') && !AppError.is(error, 'INTERNAL')) throw error;
    try {
      (await this.#ask({ method: 'GET', key, headers: { Range: 'bytes=0-0' }, signal })).destroy();
    } catch (told) {
      if (AppError.is(told, 'STORAGE_LOGIN_FAILED')) throw told;
    }
    throw error;
  }

  async findHead(key: string, options: CallOptions): Promise<ObjectHead | undefined> {
    try {
      return await this.head(key, options);
    } catch (error) {
      if (AppError.is(error, 'ENTRY_NOT_FOUND')) return undefined;
      throw error;
    }
  }

  /**
   * @param start bytes are asked for from here on, @param end up to here; undefined: to the end
   * @throws AppError ENTRY_NOT_FOUND | RANGE_NOT_SATISFIABLE
   */
  async get(key: string, start: number, end: number | undefined, { signal }: CallOptions): Promise<ObjectBody> {
    const isWhole = start === 0 && end === undefined;
    const Range = isWhole ? undefined : `bytes=${start}-${end === undefined ? '' : end - 1}`;
    const answer = await this.#ask({ method: 'GET', key, headers: { Range }, signal, isBulk: true });
    try {
      return bodyOf(answer, start, end);
    } catch (error) {
      answer.destroy();
      throw error;
    }
  }

  /** Pages in the order of the store, none of them empty but the first. */
  async *pages(options: ListOptions): AsyncGenerator<ListedPage, void> {
    const { prefix, delimiter, maxKeys = PAGE_KEYS, signal } = options;
    const isV2 = this.#settings.listVersion === 'v2';
    let next: string | undefined;
    do {
      const query = {
        ...(isV2 && { 'list-type': '2' }),
        ...(delimiter && { delimiter }),
        ...(next !== undefined && { [isV2 ? 'continuation-token' : 'marker']: next }),
        'encoding-type': 'url',
        'max-keys': String(maxKeys),
        prefix,
      };
      const { next: token, ...page } = await this.#askPage({ method: 'GET', key: '', query, signal }, prefix);
      yield page;
      const isMore = !page.isLast;
      const reached = isV2 ? token : lastOf(page);
      if (isMore && (reached === undefined || reached === '' || reached === next)) throw badAnswer('a listing that does not go on');
      next = isMore ? reached : undefined;
    } while (next !== undefined);
  }

  /** The first keys with this prefix, at most so many. */
  async firstPage(options: ListOptions & { readonly maxKeys: number }): Promise<ListedPage> {
    for await (const page of this.pages(options)) return page;
    throw badAnswer('no listing');
  }

  /** @throws AppError STALE_VERSION | ENTRY_NOT_FOUND: there is something else */
  async put(key: string, payload: Payload, object: NewObject, condition: Condition, options: UploadOptions): Promise<Taken> {
    const { signal, onProgress } = options;
    const headers = { ...this.#newObject(object), ...conditionHeaders(condition) };
    const ask: Ask = { method: 'PUT', key, headers, payload, signal, onProgress, headersTimeoutMs: UPLOAD_ANSWER_MS };
    const [sentAt, askedAtMs] = [this.#clock.latest, performance.now()];
    const answer = await this.#ask(ask);
    const { date, etag } = answer.headers;
    await drain(answer, signal);
    const version = etag === undefined ? undefined : plainEtag(etag);
    const answeredAt = this.#clock.hear(date, askedAtMs);
    return { version, sizeBytes: payload.bytes.byteLength, sentAt, answeredAt, isWithin: this.#clock.isWithin(performance.now()) };
  }

  /**
   * What the store has of an object that it has just taken. It is asked where its answer did not tell.
   *
   * @throws AppError ENTRY_NOT_FOUND | STORAGE_UNAVAILABLE: what had the key before | CONTENT_CORRUPT: less or more than it was sent
   */
  async headOfTaken(key: string, taken: Taken, options: CallOptions): Promise<ObjectHead> {
    const known = this.#clock.headOf(taken);
    if (known) return known;
    let head = await this.head(key, options);
    for (const pauseMs of LATE_LOOKS_MS) {
      if (!isFromBefore(head, taken)) break;
      await wait(pauseMs);
      throwIfAborted(options.signal);
      head = await this.head(key, options);
    }
    if (isFromBefore(head, taken)) throw badAnswer('success, and has the object that was there before');
    this.#clock.compare(taken, head);
    if (head.version === taken.version && head.sizeBytes !== taken.sizeBytes) {
      throw storageError('CONTENT_CORRUPT', new Error(`${taken.sizeBytes} bytes were sent, the store has ${head.sizeBytes}`));
    }
    return head;
  }

  /** Nothing there is success. */
  async delete(key: string, { signal }: CallOptions): Promise<void> {
    await drain(await this.#ask({ method: 'DELETE', key, signal }), signal);
  }

  /** Only while it is this version, where the store knows the condition; nothing there is success. @throws AppError STALE_VERSION */
  async deleteVersion(key: string, version: string, options: CallOptions): Promise<void> {
    const { signal } = options;
    try {
      await drain(await this.#ask({ method: 'DELETE', key, headers: { 'If-Match': `"${version}"` }, signal }), signal);
    } catch (error) {
      // A proxy may have sent it twice.
      if (AppError.is(error, 'ENTRY_NOT_FOUND') || AppError.is(error, 'STALE_VERSION')) {
        if ((await this.findHead(key, options)) === undefined) return;
        throw error;
      }
      // Some stores refuse what others pass over.
      if (!AppError.is(error, 'UNSUPPORTED_OPERATION') && !AppError.is(error, 'INVALID_ARGUMENT')) throw error;
      await this.delete(key, options);
    }
  }

  /** A folder goes behind what is in it: a store that keeps folders refuses to remove one with anything in it. */
  async deleteMany(keys: readonly string[], options: CallOptions): Promise<void> {
    const behind = keys.toSorted((one, other) => other.length - one.length);
    for (const key of behind) if (NOT_IN_XML.test(key)) await this.delete(key, options);
    const plain = behind.filter((key) => !NOT_IN_XML.test(key));
    for (let at = 0; at < plain.length; at += PAGE_KEYS) await this.#deletePage(plain.slice(at, at + PAGE_KEYS), options);
  }

  async #deletePage(keys: readonly string[], options: CallOptions): Promise<void> {
    const objects = keys.map((key) => `<Object><Key>${escapeXml(key)}</Key></Object>`).join('');
    const answer = await this.#ask({
      method: 'POST',
      key: '',
      query: { delete: '' },
      payload: payloadOf(`<Delete><Quiet>true</Quiet>${objects}</Delete>`, true),
      headersTimeoutMs: SLOW_MS,
      ...options,
    });
    let failed: string | undefined;
    for await (const child of readChildren(boundedBody(answer, options.signal, MAX_PAGE_BYTES), 'DeleteResult', MAX_SMALL_BYTES)) {
      const code = child.name === 'Error' ? (textOf(child, 'Code') ?? '') : 'NoSuchKey';
      if (code !== 'NoSuchKey') failed ??= code;
    }
    if (failed !== undefined) throw toAppError({ status: 200, code: failed });
  }

  /**
   * Of an object of 5 GiB at most, with its type and what is noted on it.
   * @param isNew only where there is none, where the store looks at it here
   * @throws AppError STALE_VERSION (it is not `source.version` any more) | ENTRY_NOT_FOUND
   */
  async copy(from: string, source: ObjectHead, to: string, isNew: boolean, { signal }: CallOptions): Promise<Taken> {
    const headers = {
      ...this.#copySource(from, source.version),
      'x-amz-storage-class': this.#settings.storageClass,
      'If-None-Match': isNew ? '*' : undefined,
    };
    const ask: Ask = { method: 'PUT', key: to, headers, signal, headersTimeoutMs: SLOW_MS };
    const sentAt = this.#clock.latest;
    return takenBy(await this.#askXml(ask, { root: 'CopyObjectResult' }), source.sizeBytes, sentAt);
  }

  /** @returns the id of the upload */
  async createUpload(key: string, object: NewObject, { signal }: CallOptions): Promise<string> {
    const answer = await this.#askXml({ method: 'POST', key, query: { uploads: '' }, headers: this.#newObject(object), signal });
    const id = textOf(answer, 'UploadId');
    if (id === undefined || id === '' || id.length > 4096) throw badAnswer('no upload');
    return id;
  }

  async uploadPart(key: string, uploadId: string, number: number, payload: Payload, options: UploadOptions): Promise<UploadedPart> {
    const { signal, onProgress } = options;
    const query = { partNumber: String(number), uploadId };
    const answer = await this.#ask({ method: 'PUT', key, query, payload, signal, onProgress, headersTimeoutMs: UPLOAD_ANSWER_MS });
    await drain(answer, signal);
    return { number, etag: etagOf(answer), sizeBytes: payload.bytes.byteLength };
  }

  /** Bytes [start, end) of another object as a part. */
  async copyPart(
    key: string,
    uploadId: string,
    number: number,
    source: { readonly key: string; readonly version: string; readonly start: number; readonly end: number },
    { signal }: CallOptions,
  ): Promise<UploadedPart> {
    const query = { partNumber: String(number), uploadId };
    const range = `bytes=${source.start}-${source.end - 1}`;
    const headers = { ...this.#copySource(source.key, source.version), 'x-amz-copy-source-range': range };
    const answer = await this.#askXml({ method: 'PUT', key, query, headers, signal, headersTimeoutMs: SLOW_MS });
    const etag = textOf(answer, 'ETag');
    if (!etag) throw badAnswer('a copied part without an ETag');
    return { number, etag, sizeBytes: source.end - source.start };
  }

  /** @param condition where the store looks at it here. @throws AppError as put() */
  async completeUpload(
    key: string,
    uploadId: string,
    parts: readonly UploadedPart[],
    condition: Condition,
    { signal }: CallOptions,
  ): Promise<Taken> {
    const list = parts.map(({ number, etag }) => `<Part><PartNumber>${number}</PartNumber><ETag>${escapeXml(etag)}</ETag></Part>`).join('');
    const payload = payloadOf(`<CompleteMultipartUpload>${list}</CompleteMultipartUpload>`, false);
    const headers = conditionHeaders(condition);
    const ask: Ask = { method: 'POST', key, query: { uploadId }, headers, payload, signal, headersTimeoutMs: SLOW_MS };
    const sizeBytes = parts.reduce((sum, part) => sum + part.sizeBytes, 0);
    const sentAt = this.#clock.latest;
    return takenBy(await this.#askXml(ask, { root: 'CompleteMultipartUploadResult' }), sizeBytes, sentAt);
  }

  /** The parts that an upload has, in their order. @throws AppError ENTRY_NOT_FOUND: there is no such upload */
  async listParts(key: string, uploadId: string, { signal }: CallOptions): Promise<StoredPart[]> {
    const parts: StoredPart[] = [];
    for (let isMore = true; isMore; ) {
      const reached = parts.at(-1)?.number ?? 0;
      const query = { 'max-parts': String(PAGE_KEYS), 'part-number-marker': String(reached), uploadId };
      const answer = await this.#askXml({ method: 'GET', key, query, signal }, { maxBytes: MAX_PARTS_BYTES }).catch((error: unknown) => {
        throw isGoneUpload(error) ? storageError('ENTRY_NOT_FOUND', error) : error;
      });
      const page = childrenOf(answer, 'Part').map(storedPart);
      if (parts.length + page.length > MAX_PARTS) throw badAnswer('more parts than an upload has');
      isMore = textOf(answer, 'IsTruncated')?.trim() === 'true';
      if (isMore && !((page.at(-1)?.number ?? 0) > reached)) throw badAnswer('a list of parts that does not go on');
      parts.push(...page);
    }
    return parts;
  }

  /** Whether an upload has not ended: looks at one part alone. */
  async hasUpload(key: string, uploadId: string, { signal }: CallOptions): Promise<boolean> {
    try {
      await drain(await this.#ask({ method: 'GET', key, query: { 'max-parts': '1', uploadId }, signal }), signal);
      return true;
    } catch (error) {
      if (isGoneUpload(error)) return false;
      throw error;
    }
  }

  /** Uploads that have not ended, so many as a bounded number of pages has. @param prefix of their keys; some stores know only whole keys here */
  async listUploads(prefix: string, { signal }: CallOptions): Promise<OpenUpload[]> {
    const uploads: OpenUpload[] = [];
    let length = 0;
    let next: Readonly<Record<string, string>> = {};
    for (let pages = 0; pages < MAX_UPLOAD_PAGES; pages += 1) {
      const query = { uploads: '', 'encoding-type': 'url', 'max-uploads': String(PAGE_KEYS), prefix, ...next };
      const answer = await this.#askXml({ method: 'GET', key: '', query, signal }, { maxBytes: MAX_PAGE_BYTES });
      const isEncoded = textOf(answer, 'EncodingType')?.trim() === 'url';
      const keyOf = (key = '') => (isEncoded ? decodeKey(key) : key);
      for (const upload of childrenOf(answer, 'Upload')) {
        const [key, id] = [keyOf(textOf(upload, 'Key')), textOf(upload, 'UploadId') ?? ''];
        // What is not taken is found once others have ended.
        length += UPLOAD_LENGTH + key.length + id.length;
        if (length > MAX_UPLOADS_LENGTH) return uploads;
        uploads.push({ key, id, startedAt: dateOf(textOf(upload, 'Initiated')) });
      }
      const [key, id] = [keyOf(textOf(answer, 'NextKeyMarker')), textOf(answer, 'NextUploadIdMarker')?.trim() ?? ''];
      const isSame = next['key-marker'] === key && (next['upload-id-marker'] ?? '') === id;
      if (textOf(answer, 'IsTruncated')?.trim() !== 'true' || key === '' || isSame) break;
      next = { 'key-marker': key, ...(id !== '' && { 'upload-id-marker': id }) };
    }
    return uploads;
  }

  /** One that is gone is success. */
  async abortUpload(key: string, uploadId: string, { signal }: CallOptions): Promise<void> {
    try {
      await drain(await this.#ask({ method: 'DELETE', key, query: { uploadId }, signal }), signal);
    } catch (error) {
      if (!isGoneUpload(error)) throw error;
    }
  }

  /** The text of a small object. */
  async readText(key: string, options: CallOptions): Promise<string> {
    const { answer } = await this.get(key, 0, undefined, options);
    return readText(answer, options.signal, MAX_SMALL_BYTES);
  }

  /** Fills memory with an object of its size. */
  async readInto({ key, version }: ListedObject, memory: Uint8Array, options: CallOptions): Promise<void> {
    const body = await this.get(key, 0, undefined, options);
    if (body.version !== version || body.sizeBytes !== memory.byteLength) {
      body.answer.destroy();
      throw badAnswer('another object than it listed');
    }
    let filled = 0;
    for await (const piece of boundedBody(body.answer, options.signal, memory.byteLength)) {
      memory.set(piece, filled);
      filled += piece.byteLength;
    }
    if (filled !== memory.byteLength) throw badAnswer('a file that breaks off');
  }

  /**
   * An address that serves a file without us.
   *
   * @param asked the type that the store is asked to say, where the address is signed: an object that was copied has that of its name before. And what it
   * is asked to call the file
   */
  presign(key: string, asked: { contentType: string; fileName: string | undefined }): { url: string; isSigned: boolean } {
    const { links } = this.#settings;
    const url = linkUrl(this.#settings, key);
    if (links.customHost && !links.signsCustomHost) return { url: url.href, isSigned: false };
    const query = {
      'response-content-type': asked.contentType,
      ...(asked.fileName !== undefined && { 'response-content-disposition': `attachment; filename*=UTF-8''${encodeText(asked.fileName)}` }),
    };
    return { url: this.#signer.address({ method: 'GET', url, query }, links.expirySeconds).href, isSigned: true };
  }

  /** Ends what runs. Safe to call twice. */
  close(): void {
    this.#isClosed = true;
    this.#client.close();
  }

  #newObject({ contentType, draftId, hasClass }: NewObject) {
    return {
      'Content-Type': contentType,
      'x-amz-storage-class': hasClass === false ? undefined : this.#settings.storageClass,
      [DRAFT_HEADER]: draftId,
    };
  }

  #copySource(key: string, version: string) {
    const source = `${this.#settings.bucket}/${key}`.split('/').map(encodeText).join('/');
    return { 'x-amz-copy-source': `/${source}`, 'x-amz-copy-source-if-match': `"${version}"` };
  }

  /** @throws AppError as errors.ts says, for every answer that is no success */
  async #ask({ method, key, query = {}, headers = {}, payload, onProgress, ...rest }: Ask): Promise<Answer> {
    throwIfAborted(rest.signal);
    if (this.#isClosed) throw storageError('STORAGE_UNAVAILABLE');
    const url = objectUrl(this.#settings, key);
    const isTls = url.protocol === 'https:';
    const signed = this.#signer.headers({
      method,
      url,
      query,
      headers: {
        ...Object.fromEntries(Object.entries(headers).filter((header): header is [string, string] => header[1] !== undefined)),
        ...(payload?.md5 !== undefined && { 'Content-MD5': payload.md5 }),
      },
      payloadSha256: payload ? (payload.sha256 ?? UNSIGNED_PAYLOAD) : isTls ? UNSIGNED_PAYLOAD : EMPTY_SHA256,
    });
    url.search = queryText(query);
    const askedAtMs = performance.now();
    const answer = await this.#client.request({
      ...rest,
      url,
      method,
      headers: {
        ...signed,
        ...(this.#settings.userAgent !== undefined && { 'User-Agent': this.#settings.userAgent }),
        ...(method === 'PUT' || method === 'POST' ? { 'Content-Length': String(payload?.bytes.byteLength ?? 0) } : {}),
      },
      body: payload && (payload.bytes.byteLength > PIECE_BYTES ? piecesOf(payload.bytes, onProgress) : payload.bytes),
    });
    this.#clock.hear(answer.headers.date, askedAtMs);
    if (this.#isClosed) {
      answer.destroy();
      throw storageError('STORAGE_UNAVAILABLE');
    }
    const { statusCode = 0 } = answer;
    if (statusCode >= 200 && statusCode < 300) {
      requireAllSent(answer);
      return answer;
    }
    throw toAppError(await failureOf(answer, statusCode, rest.signal));
  }

  /** A page of a listing, of which no more is kept than is looked at. */
  async #askPage(ask: Ask, prefix: string): Promise<AnsweredPage> {
    const objects: Omit<ListedObject, 'key'>[] = [];
    const keys: string[] = [];
    const prefixes: string[] = [];
    const facts = new Map<string, string>();
    let children = 0;
    const body = boundedBody(await this.#ask(ask), ask.signal, MAX_PAGE_BYTES);
    for await (const child of readChildren(body, 'ListBucketResult', MAX_SMALL_BYTES)) {
      children += 1;
      if (children > MAX_PAGE_CHILDREN) throw badAnswer('a page of too many keys');
      if (child.name === 'Contents') {
        keys.push(textOf(child, 'Key') ?? '');
        objects.push(headOfListed(child));
      } else if (child.name === 'CommonPrefixes') prefixes.push(textOf(child, 'Prefix') ?? '');
      else if (PAGE_FACTS.has(child.name)) facts.set(child.name, child.text.trim());
    }
    // Whether keys are encoded may be said behind them.
    const read = (key: string) => readKey(key, facts.get('EncodingType') === 'url', prefix);
    return {
      objects: objects.map((object, index) => ({ ...object, key: read(keys[index] ?? '') })),
      prefixes: prefixes.map(read),
      isLast: facts.get('IsTruncated') !== 'true',
      next: facts.get('NextContinuationToken'),
    };
  }

  /**
   * Some calls fail with an answer that begins as a success.
   *
   * @param root what a success is called; undefined where the caller asks for something that only a success has
   */
  async #askXml(ask: Ask, { root, maxBytes = MAX_SMALL_BYTES }: { root?: string; maxBytes?: number } = {}): Promise<XmlElement> {
    const answer = await parseXml(boundedBody(await this.#ask(ask), ask.signal), maxBytes);
    if (answer.name === 'Error') throw toAppError({ status: 200, code: textOf(answer, 'Code') });
    if (root !== undefined && answer.name !== root) throw badAnswer(`no ${root}`);
    return answer;
  }
}

/** @param hasMd5 some calls are not taken without it */
export function payloadOf(text: string, hasMd5: boolean): Payload {
  const bytes = Buffer.from(text);
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  return { bytes, sha256, md5: hasMd5 ? createHash('md5').update(bytes).digest('base64') : undefined };
}

async function* piecesOf(bytes: Uint8Array, onSent: (() => void) | undefined): AsyncGenerator<Uint8Array, void> {
  for (let at = 0; at < bytes.byteLength; at += PIECE_BYTES) {
    yield bytes.subarray(at, at + PIECE_BYTES);
    onSent?.();
  }
}

async function failureOf(answer: Answer, status: number, signal: AbortSignal | undefined): Promise<StoreAnswer> {
  try {
    const root = await parseXml(boundedBody(answer, signal, MAX_SMALL_BYTES), MAX_SMALL_BYTES);
    return { status, code: textOf(root, 'Code'), region: textOf(root, 'Region') ?? String(answer.headers['x-amz-bucket-region'] ?? '') };
  } catch (error) {
    if (signal?.aborted) throw error;
    // Not every answer has a body that says more: that to HEAD has none, and whoever stands in between has its own.
    return { status };
  }
}

/** Whether a call failed because its upload in parts has ended. */
export function isGoneUpload(error: unknown): boolean {
  if (AppError.is(error, 'ENTRY_NOT_FOUND')) return true;
  return AppError.is(error) && error.cause instanceof Error && error.cause.message.endsWith(' NoSuchUpload');
}

function lengthOf({ headers }: Answer): number {
  const text = headers['content-length'];
  if (text === undefined || !/^\d{1,15}$/.test(text)) throw badAnswer('an object without a size');
  return Number(text);
}

function etagOf({ headers }: Answer): string {
  const { etag } = headers;
  if (!etag || etag.length > 256) throw badAnswer('an object without an ETag');
  return etag;
}

function headOf(answer: Answer, sizeBytes: number): ObjectHead {
  const draftId = answer.headers[DRAFT_HEADER];
  return {
    sizeBytes,
    modifiedAt: dateOf(answer.headers['last-modified']),
    version: plainEtag(etagOf(answer)),
    ...(typeof draftId === 'string' && { draftId }),
  };
}

function conditionHeaders({ isNew, over }: Condition) {
  return { 'If-None-Match': isNew ? '*' : undefined, 'If-Match': over === undefined ? undefined : `"${over}"` };
}

/** @param answer says which version it made, if it does. @param sentAt by the store's clock */
function takenBy(answer: XmlElement, sizeBytes: number, sentAt: number | undefined): Taken {
  const etag = textOf(answer, 'ETag')?.trim();
  return {
    version: etag === undefined ? undefined : plainEtag(etag),
    sizeBytes,
    sentAt,
    answeredAt: undefined,
    isWithin: false,
  };
}

/**
 * Whether an object is not the one that was sent, nor one that somebody made since, but what had the key before. A store that says by whatever clock when an
 * object was made is believed where it has as many bytes as were sent.
 */
function isFromBefore(head: ObjectHead, { version, sizeBytes, sentAt, before }: Taken): boolean {
  if (head.version === version) return false;
  if (before) return before.version === head.version && before.modifiedAt.getTime() === head.modifiedAt.getTime();
  return head.sizeBytes !== sizeBytes && sentAt !== undefined && head.modifiedAt.getTime() + CLOCK_STEPS_MS < sentAt;
}

function plainEtag(etag: string): string {
  return etag.replace(/^W\//, '').replace(/^"(.*)"$/s, '$1');
}

function dateOf(text: string | undefined): Date {
  const ms = Date.parse(text ?? '');
  if (Number.isNaN(ms)) throw badAnswer('an object without a date');
  return new Date(Math.floor(ms / 1000) * 1000);
}

/** Holds an answer to the range that was asked for. */
function bodyOf(answer: Answer, start: number, end: number | undefined): ObjectBody {
  const lengthBytes = lengthOf(answer);
  if (answer.statusCode === 200) {
    if (start > 0 || (end !== undefined && end < lengthBytes)) throw badAnswer('all of an object in the place of a range');
    return { ...headOf(answer, lengthBytes), answer, start: 0, end: lengthBytes };
  }
  const match = /^bytes (\d{1,15})-(\d{1,15})\/(\d{1,15})$/.exec(answer.headers['content-range'] ?? '');
  const [first, last, sizeBytes] = (match ?? []).slice(1).map(Number);
  if (answer.statusCode !== 206 || first === undefined || last === undefined || sizeBytes === undefined) throw badAnswer('no range');
  const isAsked = first === start && last + 1 === Math.min(end ?? sizeBytes, sizeBytes) && lengthBytes === last + 1 - first;
  if (!isAsked) throw badAnswer('another range');
  return { ...headOf(answer, sizeBytes), answer, start, end: last + 1 };
}

function storedPart(part: XmlElement): StoredPart {
  const [number, sizeBytes] = [textOf(part, 'PartNumber') ?? '', textOf(part, 'Size') ?? ''];
  const etag = textOf(part, 'ETag') ?? '';
  if (!/^\d{1,5}$/.test(number) || !/^\d{1,15}$/.test(sizeBytes) || etag === '' || etag.length > MAX_ETAG_LENGTH) {
    throw badAnswer('a part that is none');
  }
  return { number: Number(number), sizeBytes: Number(sizeBytes), etag, modifiedAt: dateOf(textOf(part, 'LastModified')) };
}

/** Of an object in a listing; longer ones are no ETags. */
const MAX_ETAG_LENGTH = 256;

function headOfListed(object: XmlElement): Omit<ListedObject, 'key'> {
  const size = textOf(object, 'Size') ?? '';
  if (!/^\d{1,15}$/.test(size)) throw badAnswer('an object without a size');
  const etag = textOf(object, 'ETag') ?? '';
  if (etag.length > MAX_ETAG_LENGTH) throw badAnswer('an ETag without end');
  return { sizeBytes: Number(size), modifiedAt: dateOf(textOf(object, 'LastModified')), version: ownText(plainEtag(etag)) };
}

function readKey(text: string, isEncoded: boolean, prefix: string): string {
  const key = isEncoded ? decodeKey(text) : text;
  if (!key.startsWith(prefix)) throw badAnswer('keys of other folders');
  // A character has one byte at least.
  if (key.length > MAX_KEY_BYTES) throw badAnswer('keys that are too long');
  return key;
}

/** As forms are encoded: blanks may be `+`. */
function decodeKey(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch (cause) {
    throw badAnswer('keys that are no UTF-8', cause);
  }
}

/** The last of a page in byte order. */
function lastOf({ objects, prefixes }: Pick<ListedPage, 'objects' | 'prefixes'>): string | undefined {
  const [object, prefix] = [objects.at(-1)?.key, prefixes.at(-1)];
  if (object === undefined || prefix === undefined) return object ?? prefix;
  return Buffer.compare(Buffer.from(object), Buffer.from(prefix)) > 0 ? object : prefix;
}
