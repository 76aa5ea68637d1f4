import { randomUUID } from 'node:crypto';
import http, { type IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Answer } from '@wharf/egress';
import { AppError } from '@wharf/errors';
import { z } from 'zod';
import { boundedBody, drain, readText } from '../../driver-contract/answers.ts';
import type { CallOptions, Hashes, HashName, Space } from '../../driver-contract/storage-driver.ts';
import { abortError, badAnswer, storageError, throwIfAborted } from '../../driver-contract/storage-error.ts';
import { answerOf } from './answer-of.ts';
import { type DownloadSink, openDownloadSink } from './download-sink.ts';
import { isBrokenConnection, isFileByFile, isUnexplained, toAppError } from './errors.ts';
import { type Features, readFeatures, toHashes } from './features.ts';
import { readJsonList } from './json-list.ts';
import { type Provider, readProviders } from './providers.ts';
import type { RcdProcess } from './rcd-process.ts';
import { openUploadSource } from './upload-source.ts';

/** What rclone calls a path of a remote: no slash at its ends, and empty for its root. */
export type Place = string;

/** What a remote is made of. All of it stays in the memory of the child. */
export interface Remote {
  readonly type: string;
  /** Options of this type, by rclone's names. */
  readonly parameters: Readonly<Record<string, string>>;
}

/** Whose rclone it is: the child of this process, or another. */
export interface RcdSource {
  hold(): () => void;
  get(): Promise<RcdProcess>;
  /** A call waited for it in vain. */
  suspect?(process: RcdProcess): void;
  /** This storage may be what the child was ended for: from now on it gets one of its own, where there is room for that. */
  setApart?(): void;
  /** Makes the connection to it; absent: it is the child of this process. */
  readonly connect?: (signal: AbortSignal | undefined) => Promise<Duplex>;
}

/** How rclone gets to the server of a storage. */
export interface RemoteWay {
  /**
   * Makes the remote, each time anew when the child was started anew.
   * @param providers what rclone knows
   * @throws AppError what the policy says of the server; INVALID_ARGUMENT for options that rclone does not have
   */
  remote(providers: () => Promise<readonly Provider[]>): Promise<Remote>;
  /** Why the last connection did not come about; undefined: it did, or nobody knows. */
  readonly failure: AppError | undefined;
  /** Told after calls and at the end: rclone may have renewed a token. @param read an option of the remote as it is now */
  readonly onUsed?: (read: (option: string) => Promise<string>) => Promise<void>;
  /** The server does not let us in. @returns whether a remote made anew may be let in */
  readonly onRefused?: () => Promise<boolean>;
  /** Ends all connections. Safe twice. */
  close(): void;
}

/** What rclone tells of an entry. */
export interface RemoteEntry {
  readonly name: string;
  readonly isFolder: boolean;
  /** Undefined where nobody knows, and of folders. */
  readonly sizeBytes: number | undefined;
  readonly modifiedAt: Date;
  /** Those that were asked for and are known. */
  readonly hashes?: Hashes;
}

/** A remote as a child knows it. */
interface MadeRemote {
  readonly process: RcdProcess;
  /** Its name: nobody else has it. */
  readonly made: Promise<string>;
}

const MAX_ANSWER_BYTES = 256 * 1024;
/** rclone 1.60 tells 400 KB of its providers, 1.75 twice of it. */
const MAX_PROVIDERS_BYTES = 8 * 1024 * 1024;
const MAX_SOCKETS = 128;
const IDLE_MS = 30_000;
/** For what is asked for no caller, as the making of a remote, and for what is carried out to its end without one: an rclone elsewhere may hang. */
const OWN_CALL_MS = 60_000;
const SLOW_MS = 600_000;
/** What is given up after so long may wait for an rclone that answers nobody. */
const SUSPECT_AFTER_MS = 10_000;
/** A remote is made anew at most so often because connections of it had broken, in milliseconds: each has its own, and logs in anew. */
const RENEWED_EVERY_MS = 5_000;
/** Others look for some milliseconds, and a child does not take half of the memory in that time. */
const LONG_LOOK_MS = 1_000;
/** A listing that the child was ended for is worth asking for again after so long: too long for whoever asks again by itself. */
const LIST_AGAIN_MS = 60_000;
/** How long a remote stays that is no longer used. */
const FORGET_MS = 60_000;
/** How long the end of an upload that was broken off is waited for: rclone removes what came of it. */
const SETTLE_MS = 5_000;
/** What our own child is started with, for another one: a content that is cut off fails, and what is copied is copied. */
const OUR_WAYS = { StreamingUploadCutoff: 0, IgnoreTimes: true, UseServerModTime: true, LowLevelRetries: 1 };
/** A folder that cannot be moved whole, as where something has its new name, is not moved file by file, over what is there: for that no time is left. */
const IN_ONE_STEP = { MaxDuration: 1 };
/** Of what rclone tells no time of. */
const NO_TIME = new Date(0);

const itemSchema = z.object({
  Name: z.string(),
  Size: z.number(),
  ModTime: z.string(),
  IsDir: z.boolean(),
  Hashes: z.record(z.string(), z.string()).nullish(),
});
const valuesSchema = z.record(z.string(), z.string());
const statSchema = z.object({ item: itemSchema.nullish() });
const aboutSchema = z.object({ total: z.number().optional(), used: z.number().optional(), free: z.number().optional() });
const errorSchema = z.object({ error: z.string() });

/** One remote of rclone, which the child of this process serves. It knows no more of it than what it is told here, again whenever it was started anew. */
export class RcloneClient {
  readonly #way: RemoteWay;
  readonly #rcd: RcdSource;
  readonly #release: () => void;
  readonly #agent = new http.Agent({ keepAlive: true, maxSockets: MAX_SOCKETS, maxFreeSockets: 32, timeout: IDLE_MS });
  readonly #closing = new AbortController();
  readonly #ownCallMs: number;
  #remote: MadeRemote | undefined;
  #renewedAtMs = Number.NEGATIVE_INFINITY;
  #asksBeforeMove = true;
  #sink: Promise<DownloadSink> | undefined;
  #hashes: readonly HashName[] = [];

  /** @param ownCallMs others than the standard ones are given by tests only */
  constructor(way: RemoteWay, rcd: RcdSource, ownCallMs = OWN_CALL_MS) {
    this.#ownCallMs = ownCallMs;
    this.#way = way;
    this.#rcd = rcd;
    this.#release = rcd.hold();
  }

  /** What rclone knows, without a remote. */
  async providers(): Promise<readonly Provider[]> {
    return this.#providersOf(await this.#rcd.get());
  }

  /** What the storage can do. */
  async features(place: Place, { signal }: CallOptions): Promise<Features> {
    return readFeatures(
      await this.#withRemote(
        signal,
        async (process, name) => readJson(await this.#post(process, 'operations/fsinfo', { fs: `${name}:${place}` }, signal), signal),
        true,
      ),
    );
  }

  /** From now on entries come with these. */
  askForHashes(names: readonly HashName[]): void {
    this.#hashes = names;
  }

  /** From now on a move of a file is refused with ENTRY_EXISTS where something has the name: rclone leaves it to a server that never replaces by it. */
  leaveTakenNamesToServer(): void {
    this.#asksBeforeMove = false;
  }

  /** What is at a place, as rclone finds it: of a file in whatever spelling the server takes. Undefined: nothing. */
  find(place: Place, call: CallOptions): Promise<RemoteEntry | undefined> {
    return this.#stat(place, {}, call);
  }

  /** The same of a file alone, without a look at the folder around it, which rclone takes for whatever is no file. Undefined: nothing, or a folder. */
  findFile(place: Place, call: CallOptions): Promise<RemoteEntry | undefined> {
    return this.#stat(place, { filesOnly: true }, call);
  }

  /** @throws AppError ENTRY_NOT_FOUND, at the first step; what the server has for a file */
  async *list(folder: Place, { signal }: CallOptions): AsyncGenerator<RemoteEntry, void> {
    const ended = new AbortController();
    const until = signal ? AbortSignal.any([signal, ended.signal]) : ended.signal;
    try {
      const answer = await this.#withRemote(until, (process, name) => this.#postList(process, name, folder, until), true);
      for await (const item of readJsonList(boundedBody(answer, until), until)) yield toRemoteEntry(parse(itemSchema, item));
    } finally {
      ended.abort();
    }
  }

  /** @throws AppError also one that nobody asks again after: the listing may be what made the child end, and with it all that is under way */
  async #postList(process: RcdProcess, name: string, folder: Place, signal: AbortSignal): Promise<IncomingMessage> {
    try {
      return await this.#look(process, 'operations/list', { fs: `${name}:`, remote: folder, opt: this.#shown }, signal);
    } catch (error) {
      if (!AppError.is(error) || error !== process.ended.reason) throw error;
      throw new AppError(error.code, error.message, { cause: error, details: { ...error.details, retryAfterMs: LIST_AGAIN_MS } });
    }
  }

  /** With those above it. @throws AppError NOT_A_DIRECTORY */
  async makeFolder(place: Place, { signal }: CallOptions): Promise<void> {
    await this.#change('operations/mkdir', { remote: place }, signal);
  }

  /** @throws AppError DIRECTORY_NOT_EMPTY | ENTRY_NOT_FOUND */
  async removeFolder(place: Place, { signal }: CallOptions): Promise<void> {
    try {
      await this.#change('operations/rmdir', { remote: place }, signal);
    } catch (error) {
      if (isUnexplained(error)) throw storageError('DIRECTORY_NOT_EMPTY', error);
      // An FTP server has one number for all that it refuses, which rclone takes for a folder that is not there.
      if (AppError.is(error, 'ENTRY_NOT_FOUND'))
        for await (const _ of this.list(place, { signal })) throw storageError('DIRECTORY_NOT_EMPTY');
      throw error;
    }
  }

  /** With all it holds. @throws AppError DIRECTORY_NOT_EMPTY: something is left that rclone does not list */
  async purge(place: Place, { signal }: CallOptions): Promise<void> {
    await this.#change('operations/purge', { remote: place }, signal).catch((error: unknown) => {
      throw isUnexplained(error) ? storageError('DIRECTORY_NOT_EMPTY', error) : error;
    });
  }

  /** @throws AppError ENTRY_NOT_FOUND */
  async removeFile(place: Place, { signal }: CallOptions): Promise<void> {
    await this.#change('operations/deletefile', { remote: place }, signal);
  }

  /**
   * Nothing must have the name `to`: rclone would remove a file first, unless that is left to the server.
   *
   * @param isRespelled something had the name a moment ago in another spelling: Samba may still take it for that until it is asked
   * @throws AppError of a folder ENTRY_EXISTS, where something has got the name meanwhile; UNSUPPORTED_OPERATION: not in one step
   */
  async move(from: Place, to: Place, isFolder: boolean, call: CallOptions, isRespelled = false): Promise<void> {
    const { signal } = call;
    await this.#withRemote(signal, async (process, name) => {
      const fs = `${name}:`;
      const ways = this.#asksBeforeMove || isRespelled ? {} : { _config: { NoCheckDest: true } };
      const answer = isFolder
        ? await this.#post(process, 'sync/move', { srcFs: fs + from, dstFs: fs + to, _config: IN_ONE_STEP }, signal)
        : await this.#post(process, 'operations/movefile', { srcFs: fs, srcRemote: from, dstFs: fs, dstRemote: to, ...ways }, signal);
      await drain(answer, signal);
    }).catch(async (error: unknown) => {
      if (!isFolder || !isFileByFile(error)) throw error;
      throw storageError((await this.find(to, call)) ? 'ENTRY_EXISTS' : 'UNSUPPORTED_OPERATION', error);
    });
  }

  /** Nothing must have the name `to`. */
  async copy(from: Place, to: Place, { signal }: CallOptions): Promise<void> {
    await this.#withRemote(signal, async (process, name) => {
      const fs = `${name}:`;
      await drain(
        await this.#post(process, 'operations/copyfile', { srcFs: fs, srcRemote: from, dstFs: fs, dstRemote: to }, signal),
        signal,
      );
    });
  }

  /** Undefined where the storage does not tell. @param place where it is asked */
  async space(place: Place, { signal }: CallOptions): Promise<Space | undefined> {
    const { total, used, free } = await this.#withRemote(
      signal,
      async (process, name) =>
        parse(aboutSchema, await readJson(await this.#post(process, 'operations/about', { fs: `${name}:${place}` }, signal), signal)),
      true,
    );
    const freeBytes = free ?? (total === undefined || used === undefined ? undefined : total - used);
    return total === undefined || freeBytes === undefined ? undefined : { totalBytes: total, freeBytes: Math.max(0, freeBytes) };
  }

  /** Bytes [start, end) of a file of `sizeBytes`, of which there must be at least one. @throws AppError ENTRY_NOT_FOUND | IS_A_DIRECTORY */
  async read(place: Place, start: number, end: number, sizeBytes: number, { signal }: CallOptions): Promise<IncomingMessage> {
    const isWhole = start === 0 && end === sizeBytes;
    const answer = await this.#open(place, isWhole ? {} : { Range: `bytes=${start}-${end - 1}` }, signal);
    const { statusCode, headers } = answer;
    const isRight = isWhole
      ? statusCode === 200 && headers['content-length'] === String(sizeBytes)
      : statusCode === 206 && headers['content-range'] === `bytes ${start}-${end - 1}/${sizeBytes}`;
    if (isRight) return answer;
    answer.destroy();
    throw badAnswer('another file than it lists');
  }

  /** All of a file whose size rclone does not know, with what it says of its length as it opens it. @throws AppError ENTRY_NOT_FOUND | IS_A_DIRECTORY */
  readUncounted(place: Place, { signal }: CallOptions): Promise<IncomingMessage> {
    return this.#open(place, {}, signal);
  }

  #open(place: Place, headers: Readonly<Record<string, string>>, signal: AbortSignal | undefined): Promise<IncomingMessage> {
    return this.#withRemote(
      signal,
      (process, name) => {
        const path = `/[${name}:]/${place.split('/').map(encodeURIComponent).join('/')}`;
        return this.#send(process, { method: 'GET', path, headers }, undefined, signal);
      },
      true,
    );
  }

  /** All of a file of known size, which rclone reads ahead: what it brings is ended by its receiver, or by the signal. */
  async readAhead(place: Place, sizeBytes: number, { signal }: CallOptions): Promise<Answer> {
    if (this.#closing.signal.aborted) throw storageError('STORAGE_UNAVAILABLE');
    this.#sink ??= openDownloadSink().catch((error: unknown) => {
      this.#sink = undefined;
      throw storageError('STORAGE_UNAVAILABLE', error);
    });
    const sink = await this.#sink;
    const delivery = sink.expect();
    const copied = this.#withRemote(
      signal,
      async (process, name) => {
        const parameters = { srcFs: `${name}:`, srcRemote: place, dstFs: sink.remote, dstRemote: delivery.name };
        await drain(await this.#post(process, 'operations/copyfile', { ...parameters, _config: { NoCheckDest: true } }, signal), signal);
      },
      true,
    ).finally(() => delivery.drop());
    const answer = await Promise.race([
      delivery.content,
      // Once it comes, its end tells how it went.
      copied.then(() => Promise.reject(badAnswer('no file'))),
    ]);
    if (answer.sizeBytes === sizeBytes) return answer;
    answer.destroy();
    throw badAnswer('another file than it lists');
  }

  /**
   * Stores a new file. One that fails may be there, and not be whole.
   *
   * @param content is ended when this fails
   * @param beforeEnd asked when rclone has all of it and does not know yet that this is all: where it rejects, there is no file
   */
  async write(
    place: Place,
    content: AsyncIterable<Uint8Array>,
    { signal }: CallOptions,
    beforeEnd: () => Promise<void> = async () => undefined,
  ): Promise<void> {
    await this.#withRemote(signal, async (process, remote) => {
      const boundary = randomUUID();
      const slash = place.lastIndexOf('/');
      const [folder, name] = [place.slice(0, Math.max(0, slash)), place.slice(slash + 1)];
      const query = new URLSearchParams({
        fs: `${remote}:`,
        remote: folder,
        ...(this.#rcd.connect && { _config: JSON.stringify(OUR_WAYS) }),
      });
      // As RFC 2231 has names of any characters (https://www.rfc-editor.org/rfc/rfc2231#section-4): those of control are in no header.
      const file = `form-data; name="file"; filename*=UTF-8''${encodeURIComponent(name).replace(/['()*]/g, percent)}`;
      const head = `--${boundary}\r\nContent-Disposition: ${file}\r\nContent-Type: application/octet-stream\r\n\r\n`;
      let failure: { readonly error: unknown } | undefined;
      // Where the content fails, the body ends without its end: rclone sees that it is cut off, and says when it is done with it.
      const body = async function* () {
        yield Buffer.from(head);
        try {
          yield* content;
          await beforeEnd();
        } catch (error) {
          failure = { error };
          return;
        }
        yield Buffer.from(`\r\n--${boundary}--\r\n`);
      };
      const late = new AbortController();
      const onAbort = () => setTimeout(() => late.abort(), SETTLE_MS).unref();
      signal?.addEventListener('abort', onAbort, { once: true });
      try {
        const headers = { 'Content-Type': `multipart/form-data; boundary=${boundary}` };
        const path = `/operations/uploadfile?${query}`;
        await drain(await this.#send(process, { method: 'POST', path, headers }, body(), late.signal), late.signal);
        if (failure) throw failure.error;
      } catch (error) {
        throw failure ? failure.error : error;
      } finally {
        signal?.removeEventListener('abort', onAbort);
      }
    });
  }

  /** The same for storages that must be told the size beforehand: rclone fetches the content from us. */
  async writeSized(place: Place, content: AsyncIterable<Uint8Array>, sizeBytes: number, { signal }: CallOptions): Promise<void> {
    const source = await openUploadSource(content, sizeBytes, signal);
    try {
      const parameters = { remote: place, url: source.url };
      await this.#withRemote(undefined, async (process, name) => {
        const late = new AbortController();
        const onAbort = () => setTimeout(() => late.abort(), SETTLE_MS).unref();
        signal?.addEventListener('abort', onAbort, { once: true });
        try {
          await drain(await this.#post(process, 'operations/copyurl', { fs: `${name}:`, ...parameters }, late.signal), late.signal);
        } finally {
          signal?.removeEventListener('abort', onAbort);
        }
      });
      throwIfAborted(signal);
      if (source.failure) throw source.failure.error;
    } catch (error) {
      throw source.failure ? source.failure.error : error;
    } finally {
      await source.close();
    }
  }

  async #stat(place: Place, which: object, { signal }: CallOptions): Promise<RemoteEntry | undefined> {
    const asked = { remote: place, opt: { ...this.#shown, ...which } };
    const { item } = parse(statSchema, await readJson(await this.#ask('operations/stat', asked, signal, true), signal));
    return item ? toRemoteEntry(item) : undefined;
  }

  get #shown(): object {
    return { noMimeType: true, ...(this.#hashes.length > 0 && { showHash: true, hashTypes: this.#hashes }) };
  }

  /** From now on no call is made. Safe to call twice. */
  close(): void {
    if (this.#closing.signal.aborted) return;
    this.#closing.abort(storageError('STORAGE_UNAVAILABLE'));
    const remote = this.#remote;
    this.#way.close();
    this.#sink?.then((sink) => sink.close()).catch(() => undefined);
    void (remote ? this.#noteUse(remote).then(() => this.#forget(remote)) : Promise.resolve()).finally(() => {
      this.#agent.destroy();
      this.#release();
    });
  }

  async #change(method: string, parameters: Readonly<Record<string, unknown>>, signal: AbortSignal | undefined): Promise<void> {
    await drain(await this.#ask(method, parameters, signal), signal);
  }

  /** @param isReading it may be asked again */
  #ask(
    method: string,
    parameters: Readonly<Record<string, unknown>>,
    signal: AbortSignal | undefined,
    isReading = false,
  ): Promise<IncomingMessage> {
    return this.#withRemote(signal, (process, name) => this.#look(process, method, { fs: `${name}:`, ...parameters }, signal), isReading);
  }

  /** What moves no content. One that has gone on for long when the child is ended for its memory may be what has taken it: the child gathers all of a listing. */
  async #look(process: RcdProcess, method: string, parameters: object, signal: AbortSignal | undefined): Promise<IncomingMessage> {
    const startedAt = performance.now();
    try {
      return await this.#post(process, method, { ...parameters }, signal);
    } catch (error) {
      const isEnded = AppError.is(error) && error === process.ended.reason;
      if (isEnded && performance.now() - startedAt > LONG_LOOK_MS && !this.#closing.signal.aborted) this.#rcd.setApart?.();
      throw error;
    }
  }

  /**
   * Makes the remote known to the child where it is not.
   *
   * @param isRepeated whether it is done once more, by connections of its own, where it fails for one that had broken before
   * @throws AppError also why the server was not connected to
   */
  async #withRemote<Result>(
    signal: AbortSignal | undefined,
    work: (process: RcdProcess, name: string) => Promise<Result>,
    isRepeated = false,
    isAgain = false,
  ): Promise<Result> {
    throwIfAborted(signal);
    if (this.#closing.signal.aborted) throw storageError('STORAGE_UNAVAILABLE');
    const process = await this.#rcd.get();
    if (this.#remote?.process !== process) this.#remote = this.#makeRemote(process);
    const remote = this.#remote;
    try {
      const name = await remote.made;
      throwIfAborted(signal);
      const result = await work(process, name);
      if (!this.#closing.signal.aborted) void this.#noteUse(remote);
      return result;
    } catch (error) {
      const failure = AppError.is(error, 'STORAGE_UNAVAILABLE') ? this.#way.failure : undefined;
      const isRefused = AppError.is(error, 'STORAGE_LOGIN_FAILED') && !isAgain && ((await this.#way.onRefused?.()) ?? false);
      const now = performance.now();
      const isBroken = !failure && !isAgain && now - this.#renewedAtMs > RENEWED_EVERY_MS && isBrokenConnection(error);
      if (isBroken) this.#renewedAtMs = now;
      // rclone waits longer with each connection that fails, and keeps those that have broken: a new remote knows nothing of them.
      if ((failure || isRefused || isBroken) && this.#remote === remote) {
        this.#remote = undefined;
        this.#forgetLater(remote);
      }
      if (isRefused || (isBroken && isRepeated)) return this.#withRemote(signal, work, isRepeated, true);
      throw failure ?? error;
    }
  }

  async #noteUse({ process, made }: MadeRemote): Promise<void> {
    await this.#way
      .onUsed?.(async (option) => {
        const signal = AbortSignal.timeout(OWN_CALL_MS);
        const answer = await this.#post(process, 'config/get', { name: await made }, signal);
        return parse(valuesSchema, await readJson(answer, signal))[option] ?? '';
      })
      .catch(() => undefined);
  }

  /** What still runs on it comes to its end. */
  #forgetLater(remote: MadeRemote): void {
    setTimeout(() => void this.#forget(remote), FORGET_MS).unref();
  }

  /** Its password goes with it. */
  async #forget({ process, made }: MadeRemote): Promise<void> {
    try {
      const signal = AbortSignal.timeout(OWN_CALL_MS);
      await drain(await this.#post(process, 'config/delete', { name: await made }, signal), signal);
    } catch {
      // The child has ended, or never knew it.
    }
  }

  /** For all who wait for it, so none of them ends it. */
  #makeRemote(process: RcdProcess): MadeRemote {
    const make = async () => {
      const { type, parameters } = await this.#way.remote(() => this.#providersOf(process));
      const name = `w${randomUUID().replaceAll('-', '')}`;
      const opt = { obscure: true, nonInteractive: true };
      const body = { name, type, parameters, opt };
      const signal = AbortSignal.timeout(this.#ownCallMs);
      await drain(await this.#post(process, 'config/create', body, signal), signal);
      return name;
    };
    const remote: MadeRemote = { process, made: make() };
    remote.made.catch(() => {
      if (this.#remote === remote) this.#remote = undefined;
    });
    return remote;
  }

  #providersOf(process: RcdProcess): Promise<readonly Provider[]> {
    return readProviders(process, async () => {
      const signal = AbortSignal.timeout(this.#ownCallMs);
      return readJson(await this.#post(process, 'config/providers', {}, signal), signal, MAX_PROVIDERS_BYTES);
    });
  }

  /** @param signal undefined: it ends after ten minutes */
  async #post(
    process: RcdProcess,
    method: string,
    parameters: Readonly<Record<string, unknown>> & { readonly _config?: object },
    signal: AbortSignal = AbortSignal.timeout(SLOW_MS),
  ): Promise<IncomingMessage> {
    const ways = this.#rcd.connect && { _config: { ...OUR_WAYS, ...parameters._config } };
    const body = Buffer.from(JSON.stringify({ ...parameters, ...ways }));
    const headers = { 'Content-Type': 'application/json', 'Content-Length': body.byteLength };
    return this.#send(process, { method: 'POST', path: `/${method}`, headers }, [body], signal);
  }

  /** @throws AppError as errors.ts says, for what is no success */
  async #send(
    process: RcdProcess,
    { headers, ...options }: http.RequestOptions,
    body: Iterable<Uint8Array> | AsyncIterable<Uint8Array> | undefined,
    signal: AbortSignal | undefined,
  ): Promise<IncomingMessage> {
    throwIfAborted(signal);
    const startedAt = performance.now();
    const connection = await this.#rcd.connect?.(signal);
    const request = http.request(process.url, {
      ...options,
      path: `${new URL(process.url).pathname.replace(/\/$/, '')}${options.path ?? '/'}`,
      ...(connection ? { createConnection: () => connection } : { agent: this.#agent }),
      headers: { ...headers, Authorization: process.authorization },
      ...(signal && { signal }),
    });
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
    answerOf(request).then(resolve, reject);
    try {
      if (body === undefined) request.end();
      // An answer may come before the body has left.
      else sendBody(request, body).catch(reject);
      const answer = await promise;
      const { statusCode = 0 } = answer;
      if (statusCode >= 200 && statusCode < 300) return answer;
      throw toAppError(statusCode, await readError(answer, signal), this.#rcd.connect === undefined);
    } catch (error) {
      request.destroy();
      if (signal?.aborted && performance.now() - startedAt > SUSPECT_AFTER_MS) this.#rcd.suspect?.(process);
      if (signal?.aborted && !isLate(signal)) throw abortError(signal);
      if (AppError.is(process.ended.reason)) throw process.ended.reason;
      throw AppError.is(error) ? error : storageError('STORAGE_UNAVAILABLE', error);
    }
  }
}

function percent(character: string): string {
  return `%${character.charCodeAt(0).toString(16)}`;
}

function isLate({ reason }: AbortSignal): boolean {
  return reason instanceof DOMException && reason.name === 'TimeoutError';
}

/** A piece is no longer used when the next one is asked for. */
async function sendBody(request: http.ClientRequest, body: Iterable<Uint8Array> | AsyncIterable<Uint8Array>): Promise<void> {
  for await (const piece of body) {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const closed = () => reject(storageError('STORAGE_UNAVAILABLE'));
    // One that still waits for a connection when it is ended tells nobody of its pieces.
    request.once('close', closed);
    request.write(piece, (error) => (error ? reject(error) : resolve()));
    await promise.finally(() => request.off('close', closed));
  }
  request.end();
}

function toRemoteEntry({ Name, Size, ModTime, IsDir, Hashes: known }: z.output<typeof itemSchema>): RemoteEntry {
  const ms = Date.parse(ModTime);
  return {
    name: Name,
    isFolder: IsDir,
    sizeBytes: IsDir || !Number.isSafeInteger(Size) || Size < 0 ? undefined : Size,
    modifiedAt: Number.isNaN(ms) ? NO_TIME : new Date(ms),
    ...(known && !IsDir && { hashes: toHashes(known) }),
  };
}

async function readJson(answer: IncomingMessage, signal: AbortSignal | undefined, maxBytes = MAX_ANSWER_BYTES): Promise<unknown> {
  const text = await readText(answer, signal, maxBytes);
  try {
    return JSON.parse(text);
  } catch (error) {
    throw badAnswer('no JSON', error);
  }
}

async function readError(answer: IncomingMessage, signal: AbortSignal | undefined): Promise<string> {
  const said = errorSchema.safeParse(await readJson(answer, signal).catch(() => undefined));
  return said.success ? said.data.error : '';
}

function parse<Schema extends z.ZodType>(schema: Schema, value: unknown): z.output<Schema> {
  const parsed = schema.safeParse(value);
  if (!parsed.success) throw badAnswer('no entry', parsed.error);
  return parsed.data;
}
