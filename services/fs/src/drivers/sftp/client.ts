import { createSecretKey } from 'node:crypto';
import type { Socket } from 'node:net';
import { posix } from 'node:path';
import type { Egress } from '@wharf/egress';
import { AppError } from '@wharf/errors';
import type { AnyAuthMethod, AuthMethod, Client, ConnectConfig, ParsedKey, SFTPWrapper } from 'ssh2';
import { freeMemory } from '../../driver-contract/batches.ts';
import { createLane } from '../../driver-contract/lane.ts';
import { storageError } from '../../driver-contract/storage-error.ts';
import type { SftpSettings } from './config.ts';
import { RefusedRequest, STATUS, toConnectError } from './errors.ts';
import { type HostKey, hostKeyOf } from './host-key.ts';
import { openLockedKey } from './open-locked-key.ts';
import { PacedReading } from './paced-reading.ts';

/** For the connection, the login and the first answer together. */
const CONNECT_TIMEOUT_MS = 15_000;
/** A server that answers none of three of these in a row is gone. */
const KEEPALIVE_MS = 15_000;
const KEEPALIVE_TRIES = 3;

/** The ways a server may prove its key, safest first. Signatures by SHA-1 (`ssh-rsa`) prove nothing any more. */
const HOST_KEY_ALGORITHMS = [
  'ssh-ed25519',
  'ecdsa-sha2-nistp256',
  'ecdsa-sha2-nistp384',
  'ecdsa-sha2-nistp521',
  'rsa-sha2-512',
  'rsa-sha2-256',
] as const;

/** Flags of SSH_FXP_OPEN (draft-ietf-secsh-filexfer-02, 6.3). */
export const OPEN = { READ: 0x01, WRITE: 0x02, CREATE: 0x08, EXCLUSIVE: 0x20 } as const;

const TYPE_BITS = 0o170000;
const KINDS: ReadonlyMap<number, RemoteAttrs['kind']> = new Map([
  [0o040000, 'folder'],
  [0o100000, 'file'],
  [0o120000, 'link'],
]);

/** What the server says of an entry. Times are whole seconds since 1970. */
export interface RemoteAttrs {
  readonly kind: 'file' | 'folder' | 'link' | 'other';
  readonly sizeBytes: number;
  readonly mode: number;
  readonly uid: number;
  readonly accessedAt: number;
  readonly modifiedAt: number;
}

export interface RemoteName {
  readonly name: string;
  readonly attrs: RemoteAttrs;
}

/** What of an open file or folder is told to the server. */
export type Handle = Buffer;

/** What is set of a file; what is absent stays. */
export interface ChangedAttrs {
  readonly mode?: number;
  readonly atime?: number;
  readonly mtime?: number;
}

/** Extensions of the protocol that the server has. */
export interface Extensions {
  readonly posixRename: boolean;
  readonly hardlink: boolean;
  readonly fsync: boolean;
  readonly statvfs: boolean;
  readonly copyData: boolean;
}

/** A private key, opened. */
export type PrivateKey = ParsedKey;

export interface ConnectOptions {
  readonly settings: Pick<SftpSettings, 'host' | 'port' | 'username'>;
  readonly key: PrivateKey | undefined;
  readonly password: string | undefined;
  readonly egress: Egress;
  readonly signal: AbortSignal;
  /** Which key the server is asked to prove, where it has several. */
  readonly hostKeyType: string | undefined;
  /** Asked before anything is told to the server. @throws AppError what the connection then fails with */
  readonly checkHostKey: (key: HostKey) => void;
}

type Done<Answer> = (error?: Error | null, answer?: Answer) => void;

/**
 * What the library's types do not know: one answer of an open folder instead of all. With `full` it does not look for `.` and `..` itself, in a time
 * that grows with the square of what a server sends.
 */
interface NamesReader {
  readdir(handle: Handle, options: { readonly full: true }, done: Done<unknown>): void;
}

/** From this size on what goes out is content, in memory that the cipher made for it. */
const CONTENT_BYTES = 16 * 1024;

/**
 * Hands on together what the library writes at once: each message in three pieces. Frees what it encrypted once it is sent. Each 32 KiB of content lie in
 * memory of their own, which outlives many small collections on its way to a slow server: tens of MiB of it gather until a big one.
 */
function corkAndFree(socket: Socket): void {
  const write: (chunk: Buffer, done?: (error?: Error | null) => void) => boolean = socket.write.bind(socket);
  let isCorked = false;
  socket.write = (chunk: Buffer | string): boolean => {
    if (!isCorked) {
      isCorked = true;
      socket.cork();
      process.nextTick(() => {
        isCorked = false;
        socket.uncork();
      });
    }
    if (!Buffer.isBuffer(chunk)) return write(Buffer.from(chunk));
    const isContent = chunk.byteLength >= CONTENT_BYTES && chunk.byteLength === chunk.buffer.byteLength;
    return write(chunk, isContent ? () => freeMemory(chunk) : undefined);
  };
}

/**
 * Gives the library its keys in the form that Node has them in: to see that one in a Buffer is none takes Node 24 three times as long as to encrypt a small
 * message with it, and the library hands it over with each. After new keys are agreed upon it has Buffers again.
 */
function prepareKeys(client: Client): void {
  const protocol: unknown = Reflect.get(client, '_protocol');
  const places = [
    ['_cipher', '_encKey'],
    ['_decipher', '_decipherKey'],
  ] as const;
  for (const [place, name] of places) {
    const owner: unknown = Reflect.get(Object(protocol), place);
    const key: unknown = Reflect.get(Object(owner), name);
    if (key instanceof Uint8Array) Reflect.set(Object(owner), name, createSecretKey(key));
  }
}

/** Less in a message would have small requests go out in very many. */
const LEAST_MESSAGE_BYTES = 1024;

/** Has a server refused that opens a channel for messages of next to nothing, before the library cuts what it sends into them: of 0 bytes it does so for ever. */
function requireMessages(client: Client, fail: (error: unknown) => void): void {
  const handlers = Reflect.get(Object(Reflect.get(client, '_protocol')), '_handlers') as { CHANNEL_OPEN_CONFIRMATION: OnOpened };
  const { CHANNEL_OPEN_CONFIRMATION: onOpened } = handlers;
  handlers.CHANNEL_OPEN_CONFIRMATION = (protocol, info) => {
    if (info.packetSize >= LEAST_MESSAGE_BYTES) onOpened(protocol, info);
    else fail(storageError('STORAGE_UNAVAILABLE', new Error('the server takes no messages')));
  };
}

type OnOpened = (protocol: unknown, info: { readonly packetSize: number }) => void;

/** What the library's channel of files sends by, and keeps to itself. */
interface Sender {
  channelData(channel: number, data: Buffer): void;
  channelClose(channel: number): void;
}

/** The most that a message carries, where the server takes so much (RFC 4253, 6.1). */
const MESSAGE_BYTES = 32 * 1024;

/**
 * Has requests that are made in one turn of the event loop go out in as few messages as they fill: a channel is a stream of bytes, and to encrypt a message
 * costs more than to make most requests.
 */
function gatherRequests(sftp: SFTPWrapper): void {
  const sender = Reflect.get(sftp, '_protocol') as Sender;
  const { packetSize } = Reflect.get(sftp, 'outgoing') as { readonly packetSize: number };
  const room = Buffer.allocUnsafeSlow(Math.min(MESSAGE_BYTES, packetSize));
  let filledBytes = 0;
  const flush = (channel: number) => {
    const message = room.subarray(0, filledBytes);
    filledBytes = 0;
    if (message.byteLength > 0) sender.channelData(channel, message);
  };
  const gathering: Sender = {
    channelData(channel, data) {
      if (filledBytes === 0) setImmediate(flush, channel);
      for (let from = 0; from < data.byteLength; ) {
        const copiedBytes = data.copy(room, filledBytes, from);
        from += copiedBytes;
        filledBytes += copiedBytes;
        if (filledBytes === room.byteLength) flush(channel);
      }
    },
    channelClose(channel) {
      flush(channel);
      sender.channelClose(channel);
    },
  };
  Reflect.set(sftp, '_protocol', gathering);
}

/** What a server may have under way to us: four times the library's, which lets a reader far away have 1 MiB for each round trip. */
const WINDOW_BYTES = 8 * 1024 * 1024;
/** Of it what may be used before it is told that it may send as much more: with the 4 MiB that a reader asks for at once it never has to wait. */
const USED_BYTES = 2 * 1024 * 1024;

/** What the library's channel of files keeps to itself. */
interface WindowedChannel {
  readonly incoming: { window: number };
  readonly outgoing: { readonly id: number; readonly state: string };
  readonly _protocol: { channelWindowAdjust(channel: number, amountBytes: number): void };
  push(data: Buffer): boolean;
}

/** Opens the window of a channel wider than the library does, and again before the library would. */
function widenWindow(sftp: SFTPWrapper): void {
  const channel = sftp as unknown as WindowedChannel;
  const { incoming, outgoing, _protocol: protocol } = channel;
  const push = channel.push.bind(channel);
  const widen = () => {
    if (incoming.window > WINDOW_BYTES - USED_BYTES || outgoing.state === 'closed') return;
    const missingBytes = WINDOW_BYTES - incoming.window;
    incoming.window += missingBytes;
    protocol.channelWindowAdjust(outgoing.id, missingBytes);
  };
  channel.push = (data) => {
    widen();
    return push(data);
  };
  widen();
}

/** What every server answers at once. */
const READ_BYTES = 32 * 1024;
/** A server should take 32 KiB in a request (draft-ietf-secsh-filexfer-02, 3); one that takes less than this is not written to. */
const MIN_REQUEST_BYTES = 4 * 1024;
/** 2 MiB, which is what OpenSSH takes before it answers: more would wait in our memory, twice. */
const MAX_WRITES = 64;
/** Characters of a real path. To make one normal costs the square of its length: 0.4 s for all that fits into an answer. */
const MAX_REAL_LENGTH = 32 * 1024;
/** One answer may come so much later than any at all: on a slow line much is under way before it. What is never answered keeps its place for ever. */
const FORGOTTEN_TIMES = 5;

/**
 * One connection with one SFTP channel. Any number of requests may be on their way; what the server refuses is a RefusedRequest, and when the
 * connection is gone, all of them end with STORAGE_UNAVAILABLE.
 */
export class SftpSession {
  readonly extensions: Extensions;
  readonly hostKey: HostKey;
  /** Places for requests that carry content, for all files that are written over this connection. */
  readonly writing = createLane({ size: MAX_WRITES, share: MAX_WRITES });
  readonly #client: Client;
  readonly #socket: Socket;
  readonly #reading: PacedReading;
  readonly #sftp: SFTPWrapper;
  /** What waits for an answer, the oldest first, and since when. */
  readonly #pending = new Map<(error: unknown) => void, number>();
  /** When the last answer came, or something was asked when nothing else was. */
  #heardAtMs = 0;
  #failure: AppError | undefined;

  private constructor(client: Client, socket: Socket, reading: PacedReading, sftp: SFTPWrapper, hostKey: HostKey) {
    this.#client = client;
    this.#socket = socket;
    this.#reading = reading;
    this.#sftp = sftp;
    this.hostKey = hostKey;
    this.extensions = extensionsOf(sftp);
    const end = (cause?: unknown) => this.#end(cause);
    reading.onFlood = end;
    for (const emitter of [client, sftp]) emitter.removeAllListeners('error').on('error', end).on('close', end).on('end', end);
  }

  /** @throws AppError STORAGE_UNAVAILABLE | STORAGE_LOGIN_FAILED | DEADLINE_EXCEEDED | PERMISSION_DENIED (egress) | INVALID_ARGUMENT (the key) */
  static async connect(options: ConnectOptions): Promise<SftpSession> {
    const { settings, egress } = options;
    const { Client: SshClient } = await loadLibrary();
    const late = AbortSignal.timeout(CONNECT_TIMEOUT_MS);
    const signal = AbortSignal.any([options.signal, late]);
    const socket = await egress.connect({ host: settings.host, port: settings.port, signal, timeoutMs: CONNECT_TIMEOUT_MS });
    const client = new SshClient();
    // Until the last word of a socket: an error without a listener ends the process.
    socket.on('error', () => undefined);
    const { promise: failed, reject: fail } = Promise.withResolvers<never>();
    const reading = new PacedReading(socket, fail);
    corkAndFree(socket);
    const onAbort = () =>
      fail(late.aborted ? new AppError('DEADLINE_EXCEEDED', 'the server did not answer in time') : storageError('STORAGE_UNAVAILABLE'));
    signal.addEventListener('abort', onAbort, { once: true });
    client.on('error', fail).on('close', () => fail(new Error('closed')));
    let hostKey: HostKey | undefined;
    const check = (blob: Buffer): boolean => {
      hostKey = hostKeyOf(blob);
      try {
        options.checkHostKey(hostKey);
        return true;
      } catch (error) {
        fail(error);
        return false;
      }
    };
    try {
      if (signal.aborted) onAbort();
      await Promise.race([ready(client, { ...connectConfig(options), sock: socket, hostVerifier: check }), failed]);
      prepareKeys(client);
      requireMessages(client, fail);
      const sftp = await Promise.race([openChannel(client), failed]);
      if (hostKey === undefined) throw storageError('STORAGE_UNAVAILABLE');
      widenWindow(sftp);
      gatherRequests(sftp);
      return new SftpSession(client, socket, reading, sftp, hostKey);
    } catch (error) {
      client.removeAllListeners('error').on('error', () => undefined);
      client.end();
      socket.destroy();
      throw toConnectError(error, settings.username);
    } finally {
      failed.catch(() => undefined);
      signal.removeEventListener('abort', onAbort);
    }
  }

  get isEnded(): boolean {
    return this.#failure !== undefined;
  }

  /** Whether the server owes answers and has given none for so long. Its signs of life are of another process of it, which goes on without the one that serves files. */
  isSilentFor(ms: number): boolean {
    const now = performance.now();
    const [oldestMs = now] = this.#pending.values();
    return this.#pending.size > 0 && (now - this.#heardAtMs >= ms || now - oldestMs >= FORGOTTEN_TIMES * ms);
  }

  /** Lets go of the connection at once. Safe twice. */
  end(): void {
    this.#end(undefined);
  }

  async open(path: string, flags: number, mode?: number): Promise<Handle> {
    return asHandle(
      await this.#ask<unknown>((sftp, done) =>
        mode === undefined ? sftp.open(path, flags, done) : sftp.open(path, flags, { mode }, done),
      ),
    );
  }

  async close(handle: Handle): Promise<void> {
    return this.#ask((sftp, done) => sftp.close(handle, done));
  }

  /** What one request for bytes may ask for. Of more the library asks for the rest when the first part has come. @throws AppError STORAGE_UNAVAILABLE */
  get readBytes(): number {
    return Math.min(READ_BYTES, this.#mostBytes('_maxReadLen'));
  }

  /** @param lengthBytes at most `readBytes`. @returns how many bytes came, at least one; 0 at the end of the file */
  async read(handle: Handle, into: Buffer, at: number, lengthBytes: number, position: number): Promise<number> {
    return this.#ask<number>((sftp, done) => sftp.read(handle, into, at, lengthBytes, position, done));
  }

  /** The bytes may be changed once this has returned. @throws RefusedRequest | AppError, once nothing of it is on its way any more */
  async write(handle: Handle, bytes: Uint8Array, position: number): Promise<void> {
    const view = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const most = this.#mostBytes('_maxWriteLen');
    const requests: Promise<void>[] = [];
    for (let at = 0; at < view.byteLength; at += most) {
      const length = Math.min(most, view.byteLength - at);
      requests.push(this.#ask((sftp, done) => sftp.write(handle, view, at, length, position + at, (error) => done(error))));
    }
    for (const outcome of await Promise.allSettled(requests)) if (outcome.status === 'rejected') throw outcome.reason;
  }

  /**
   * What the server takes or gives of content in one request. Of more the library sends the rest when the first part is acknowledged, out of memory
   * that has other content by then.
   *
   * @throws AppError STORAGE_UNAVAILABLE: so little that requests without number would be on their way
   */
  #mostBytes(name: '_maxReadLen' | '_maxWriteLen'): number {
    const most: unknown = Reflect.get(this.#sftp, name);
    if (typeof most !== 'number' || most < MIN_REQUEST_BYTES) throw storageError('STORAGE_UNAVAILABLE', new Error('it takes no requests'));
    return most;
  }

  async fstat(handle: Handle): Promise<RemoteAttrs> {
    return toAttrs(await this.#ask<unknown>((sftp, done) => sftp.fstat(handle, done)));
  }

  async fsetstat(handle: Handle, attrs: ChangedAttrs): Promise<void> {
    return this.#ask((sftp, done) => sftp.fsetstat(handle, attrs, done));
  }

  async fsync(handle: Handle): Promise<void> {
    return this.#ask((sftp, done) => sftp.ext_openssh_fsync(handle, done));
  }

  /** @param lengthBytes more than 0 */
  async copyData(from: Handle, to: Handle, position: number, lengthBytes: number): Promise<void> {
    return this.#ask((sftp, done) => sftp.ext_copy_data(from, position, lengthBytes, to, position, done));
  }

  async stat(path: string): Promise<RemoteAttrs> {
    return toAttrs(await this.#ask<unknown>((sftp, done) => sftp.stat(path, done)));
  }

  async lstat(path: string): Promise<RemoteAttrs> {
    return toAttrs(await this.#ask<unknown>((sftp, done) => sftp.lstat(path, done)));
  }

  async realpath(path: string): Promise<string> {
    const real = await this.#ask<unknown>((sftp, done) => sftp.realpath(path, done));
    if (typeof real !== 'string' || real.length > MAX_REAL_LENGTH || !real.startsWith('/') || posix.normalize(real) !== real) {
      throw storageError('STORAGE_UNAVAILABLE', new Error('no real path'));
    }
    return real === '/' ? real : real.replace(/\/$/, '');
  }

  /** What a link says. */
  async readLink(path: string): Promise<string> {
    return String(await this.#ask<unknown>((sftp, done) => sftp.readlink(path, done)));
  }

  /** Whether `makeLink` is understood: OpenSSH takes what the protocol has as the first text for the second, and so do others, or do not. */
  get makesLinks(): boolean {
    return this.keepsOrder;
  }

  /** Whether `realpath` tells where a missing name would be, if its folder is there, and nothing otherwise. */
  get placesMissing(): boolean {
    return this.keepsOrder;
  }

  /**
   * Whether requests of all kinds are surely done one after the other, as OpenSSH does them. The protocol has it so for each file
   * (draft-ietf-secsh-filexfer-02, 6.1), but some servers look at a file while it is being written to.
   */
  get keepsOrder(): boolean {
    return Reflect.get(this.#sftp, '_isOpenSSH') === true;
  }

  /** @param text what the link at `path` says */
  async makeLink(text: string, path: string): Promise<void> {
    return this.#ask((sftp, done) => sftp.symlink(text, path, done));
  }

  async openFolder(path: string): Promise<Handle> {
    return asHandle(await this.#ask<unknown>((sftp, done) => sftp.opendir(path, done)));
  }

  /** Some names of an open folder, as the server sends them: anything may be in them. Undefined at the end. */
  async readFolder(handle: Handle): Promise<RemoteName[] | undefined> {
    try {
      const names = await this.#ask<unknown>((sftp, done) => (sftp as object as NamesReader).readdir(handle, { full: true }, done));
      if (!Array.isArray(names)) throw storageError('STORAGE_UNAVAILABLE', new Error('no names'));
      return names.map(({ filename, attrs }) => ({ name: String(filename), attrs: toAttrs(attrs) }));
    } catch (error) {
      if (error instanceof RefusedRequest && error.status === STATUS.EOF) return undefined;
      throw error;
    }
  }

  async makeFolder(path: string): Promise<void> {
    return this.#ask((sftp, done) => sftp.mkdir(path, done));
  }

  async removeFolder(path: string): Promise<void> {
    return this.#ask((sftp, done) => sftp.rmdir(path, done));
  }

  async removeFile(path: string): Promise<void> {
    return this.#ask((sftp, done) => sftp.unlink(path, done));
  }

  /** Refused when something is at `to`, by servers that hold to the protocol. */
  async rename(from: string, to: string): Promise<void> {
    return this.#ask((sftp, done) => sftp.rename(from, to, done));
  }

  /** Replaces what is at `to`, as rename(2). */
  async posixRename(from: string, to: string): Promise<void> {
    return this.#ask((sftp, done) => sftp.ext_openssh_rename(from, to, done));
  }

  async hardlink(from: string, to: string): Promise<void> {
    return this.#ask((sftp, done) => sftp.ext_openssh_hardlink(from, to, done));
  }

  async statvfs(path: string): Promise<{ totalBytes: number; freeBytes: number }> {
    const answer = await this.#ask<Record<string, unknown>>((sftp, done) => sftp.ext_openssh_statvfs(path, done));
    const [blockBytes, blocks, free] = ['f_frsize', 'f_blocks', 'f_bavail'].map((name) => Number(answer[name]) || 0) as [
      number,
      number,
      number,
    ];
    return { totalBytes: blockBytes * blocks, freeBytes: blockBytes * Math.min(free, blocks) };
  }

  #ask<Answer = void>(send: (sftp: SFTPWrapper, done: Done<Answer>) => void): Promise<Answer> {
    return new Promise<Answer>((resolve, reject) => {
      if (this.#failure) return reject(this.#failure);
      const now = performance.now();
      if (this.#pending.size === 0) this.#heardAtMs = now;
      this.#pending.set(reject, now);
      send(this.#sftp, (error, answer) => {
        if (!this.#pending.delete(reject)) return;
        this.#heardAtMs = performance.now();
        this.#reading.answered();
        if (error) reject(this.#refusal(error));
        else resolve(answer as Answer);
      });
    });
  }

  #refusal(error: Error): unknown {
    const status = 'code' in error ? error.code : undefined;
    return typeof status === 'number' ? new RefusedRequest(status, error.message) : storageError('STORAGE_UNAVAILABLE', error);
  }

  #end(cause: unknown): void {
    if (this.#failure) return;
    this.#failure = AppError.is(cause) ? cause : storageError('STORAGE_UNAVAILABLE', cause);
    for (const reject of this.#pending.keys()) reject(this.#failure);
    this.#pending.clear();
    this.#client.end();
    this.#socket.destroy();
  }
}

/**
 * Reads a private key, once for all connections.
 * @throws AppError INVALID_ARGUMENT, for the admin | CANCELLED
 */
export async function readPrivateKey(text: string, passphrase: string | undefined, signal: AbortSignal | undefined): Promise<PrivateKey> {
  const { utils } = await loadLibrary();
  const opened = passphrase === undefined ? text : await openLockedKey({ text, passphrase }, signal);
  const parsed = utils.parseKey(opened);
  if (parsed instanceof Error) throw new AppError('INVALID_ARGUMENT', `private_key cannot be used: ${parsed.message}`, { cause: parsed });
  const [first] = [parsed].flat();
  if (!first?.isPrivateKey()) throw new AppError('INVALID_ARGUMENT', 'private_key is a public key');
  return first;
}

/** Only when the first storage of this kind is opened: it costs 60 ms of processor time and 18 MB. */
async function loadLibrary(): Promise<typeof import('ssh2')> {
  const loaded = await import('ssh2');
  return loaded.default;
}

function connectConfig({ settings: { username }, hostKeyType, ...options }: ConnectOptions): ConnectConfig {
  const wanted = hostKeyType === 'ssh-rsa' ? 'rsa-sha2-512' : hostKeyType;
  return {
    username,
    authHandler: waysToLogIn(username, options),
    algorithms: {
      serverHostKey: HOST_KEY_ALGORITHMS.toSorted((a, b) => Number(b === wanted) - Number(a === wanted)),
      // What a server compresses is inflated at once, whatever it grows to.
      compress: ['none'],
    },
    readyTimeout: CONNECT_TIMEOUT_MS,
    keepaliveInterval: KEEPALIVE_MS,
    keepaliveCountMax: KEEPALIVE_TRIES,
  };
}

/** In the order in which they are tried. An agent is not among them, so there is none to ask or to forward. */
function waysToLogIn(username: string, { key, password }: Pick<ConnectOptions, 'key' | 'password'>): AuthMethod[] {
  const ways: AnyAuthMethod[] = [{ type: 'none', username }];
  if (key !== undefined) ways.push({ type: 'publickey', username, key });
  if (password !== undefined) {
    ways.push({ type: 'password', username, password });
    ways.push({
      type: 'keyboard-interactive',
      username,
      // Some servers ask questions instead: hidden ones get the password.
      prompt: (_name, _text, _language, prompts, answer) => answer(prompts.map((prompt) => (prompt.echo === true ? '' : password))),
    });
  }
  return ways;
}

/** Resolves when the login is done. */
function ready(client: Client, config: ConnectConfig): Promise<void> {
  return new Promise((resolve, reject) => {
    client.on('ready', resolve);
    try {
      client.connect(config);
    } catch (error) {
      reject(error);
    }
  });
}

function openChannel(client: Client): Promise<SFTPWrapper> {
  return new Promise((resolve, reject) => {
    client.sftp((error, sftp) =>
      error ? reject(new AppError('STORAGE_UNAVAILABLE', 'the server offers no SFTP', { cause: error })) : resolve(sftp),
    );
  });
}

/** The library keeps them to itself. */
function extensionsOf(sftp: SFTPWrapper): Extensions {
  const known: unknown = Reflect.get(sftp, '_extensions');
  const has = (name: string) => typeof known === 'object' && known !== null && Object.hasOwn(known, name);
  return {
    posixRename: has('posix-rename@openssh.com'),
    hardlink: has('hardlink@openssh.com'),
    fsync: has('fsync@openssh.com'),
    statvfs: has('statvfs@openssh.com'),
    copyData: has('copy-data'),
  };
}

/** @throws AppError STORAGE_UNAVAILABLE: the server says that all is well, and gives none */
function asHandle(answer: unknown): Handle {
  if (!Buffer.isBuffer(answer)) throw storageError('STORAGE_UNAVAILABLE', new Error('no handle'));
  return answer;
}

/** What is missing, or is no number, counts as 0: servers need not say any of it. */
function toAttrs(answer: unknown): RemoteAttrs {
  const count = (key: string): number => {
    const value: unknown = typeof answer === 'object' && answer !== null ? Reflect.get(answer, key) : undefined;
    return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : 0;
  };
  const mode = count('mode');
  return {
    kind: KINDS.get(mode & TYPE_BITS) ?? 'other',
    sizeBytes: count('size'),
    mode: mode & 0o7777,
    uid: count('uid'),
    accessedAt: count('atime'),
    modifiedAt: count('mtime'),
  };
}
