import { isIP, type Socket } from 'node:net';
import tls, { type SecureContext, type TLSSocket } from 'node:tls';
import type { Egress } from '@wharf/egress';
import { AppError } from '@wharf/errors';
import { storageError, throwIfAborted } from '../../driver-contract/storage-error.ts';
import { ControlConnection } from './control.ts';
import { isRefusal, isUnknownCommand, NotGreeted, toLoginError, toTlsError } from './errors.ts';
import type { Reply } from './replies.ts';
import type { FtpSettings, TlsSettings } from './settings.ts';

/** For the connection, TLS and the login together; for each connection for data. */
const CONNECT_TIMEOUT_MS = 15_000;
/** How long a server may take to answer what nobody waits for any more. */
export const LEAVE_MS = 400;

/** What the server says it can do. */
export interface Features {
  /** MLSD and MLST: names and facts in a form for programs. */
  readonly mlst: boolean;
  /** Sets times. */
  readonly mfmt: boolean;
}

export interface ConnectOptions {
  readonly settings: FtpSettings;
  readonly egress: Egress;
  /** What the server is verified by; undefined: the public authorities. */
  readonly trust: SecureContext | undefined;
  readonly signal: AbortSignal;
  /** As ControlConnection has it. */
  readonly silentMs?: number | undefined;
}

/** A connection for data, and the command that it was opened for. */
export interface Transfer {
  readonly socket: Socket;
  /** The server's last word on it. @throws RefusedReply */
  finish(): Promise<Reply>;
}

/** One login. It does one thing at a time: whoever has it waits for each answer before it asks again. */
export class FtpSession {
  readonly #control: ControlConnection;
  readonly #connecting: ConnectOptions;
  readonly #host: string;
  #secure: SecureSockets | undefined;
  #features: Features = { mlst: false, mfmt: false };
  #knowsEpsv = true;
  #data: Socket | undefined;

  private constructor(control: ControlConnection, host: string, options: ConnectOptions) {
    this.#control = control;
    this.#host = host;
    this.#connecting = options;
    control.onEnd = () => this.#data?.destroy(storageError('STORAGE_UNAVAILABLE'));
  }

  /** @throws AppError STORAGE_UNAVAILABLE | STORAGE_LOGIN_FAILED | DEADLINE_EXCEEDED | PERMISSION_DENIED (egress); RefusedReply or NotGreeted: too many connections */
  static async connect(options: ConnectOptions): Promise<FtpSession> {
    const { settings, egress, trust } = options;
    const late = AbortSignal.timeout(CONNECT_TIMEOUT_MS);
    const signal = AbortSignal.any([options.signal, late]);
    const socket = await egress.connect({ host: settings.host, port: settings.port, signal, timeoutMs: CONNECT_TIMEOUT_MS });
    // Until the last word of a socket: an error without a listener ends the process.
    socket.on('error', () => undefined);
    // The address that the policy has approved.
    const host = socket.remoteAddress ?? settings.host;
    const onAbort = () =>
      socket.destroy(
        late.aborted ? new AppError('DEADLINE_EXCEEDED', 'the server did not answer in time') : storageError('STORAGE_UNAVAILABLE'),
      );
    signal.addEventListener('abort', onAbort, { once: true });
    try {
      if (signal.aborted) onAbort();
      const secure = settings.tls && new SecureSockets(settings.host, settings.tls, trust);
      const first = secure?.isImplicit ? await secure.begin(socket) : socket;
      const session = new FtpSession(new ControlConnection(first, options.silentMs), host, options);
      session.#secure = secure;
      await session.#logIn();
      return session;
    } catch (error) {
      socket.destroy();
      throw error;
    } finally {
      signal.removeEventListener('abort', onAbort);
    }
  }

  get features(): Features {
    return this.#features;
  }

  get isEnded(): boolean {
    return this.#control.isEnded;
  }

  /** As ControlConnection has it. */
  get silentMs(): number {
    return this.#control.silentMs;
  }

  /** Lets go of the connection at once. Safe twice. */
  end(): void {
    this.#control.end();
  }

  /** Asks about a place, or anything else. @param argument a text of bytes, or a place as the server calls it. @throws RefusedReply */
  ask(verb: string, argument?: string): Promise<Reply> {
    return this.#control.ask(verb, argument === undefined ? undefined : this.#connecting.settings.names.toBytes(argument));
  }

  /**
   * Begins a transfer: data comes, or may be sent, over a connection of its own to the address of this one, whatever address the server names.
   *
   * @throws RefusedReply
   */
  async transfer(verb: string, argument: string | undefined, signal: AbortSignal, offsetBytes = 0): Promise<Transfer> {
    const bytes = argument === undefined ? undefined : this.#connecting.settings.names.toBytes(argument);
    const port = await this.#passivePort();
    throwIfAborted(signal);
    const plain = await this.#connecting.egress.connect({ host: this.#host, port, signal, timeoutMs: CONNECT_TIMEOUT_MS });
    plain.on('error', () => undefined);
    this.#data = plain;
    const onAbort = () => plain.destroy(storageError('CANCELLED'));
    signal.addEventListener('abort', onAbort, { once: true });
    try {
      if (offsetBytes > 0) await this.#control.ask('REST', String(offsetBytes));
      throwIfAborted(signal);
      this.#control.send(verb, bytes);
      const first = await this.#control.next();
      throwIfAborted(signal);
      // What no caller ends, as what is swept behind calls, would hold the session for ever.
      endWhenSilent(plain, this.silentMs);
      const socket = this.#secure === undefined ? plain : await this.#secure.goOn(plain);
      plain.setTimeout(0);
      socket.on('error', () => undefined);
      this.#data = socket;
      return { socket, finish: async () => (first.code >= 200 ? first : this.#control.finish()) };
    } catch (error) {
      plain.destroy();
      throw error;
    } finally {
      signal.removeEventListener('abort', onAbort);
    }
  }

  /** Ends what may still run, so that the next one can use the session; where the server says nothing of it, the session ends. */
  async settle(): Promise<void> {
    this.#data?.destroy();
    this.#data = undefined;
    await this.#control.settle(LEAVE_MS);
  }

  get isSettled(): boolean {
    return this.#control.isIdle && (this.#data === undefined || this.#data.destroyed);
  }

  async #logIn(): Promise<void> {
    const { username, password, tls: wantsTls, names } = this.#connecting.settings;
    const control = this.#control;
    try {
      await control.finish().catch((error: unknown) => {
        // One that takes too long has another code.
        throw AppError.is(error, 'STORAGE_UNAVAILABLE') ? new NotGreeted('', { cause: error }) : error;
      });
      if (wantsTls && !wantsTls.isImplicit) await this.#secureControl();
      const { code } = await control.ask('USER', names.toBytes(username));
      if (code === 331) await control.ask('PASS', names.toBytes(password));
    } catch (error) {
      throw toLoginError(error, username, wantsTls !== undefined);
    }
    if (wantsTls) {
      await control.ask('PBSZ', '0');
      await control.ask('PROT', 'P');
    }
    const known = await this.#askedFor('FEAT');
    const has = (name: string) =>
      known?.lines.some(
        (line) =>
          line
            .replace(/^\d{3}-/, '')
            .trim()
            .split(/[ ;]/)[0]
            ?.toUpperCase() === name,
      ) ?? false;
    this.#features = { mlst: has('MLST') || has('MLSD'), mfmt: has('MFMT') };
    if (names.isUtf8 && has('UTF8')) await this.#askedFor('OPTS', 'UTF8 ON');
    await control.ask('TYPE', 'I');
  }

  async #secureControl(): Promise<void> {
    try {
      await this.#control.ask('AUTH', 'TLS');
    } catch (error) {
      if (!isRefusal(error)) throw error;
      throw new AppError('STORAGE_UNAVAILABLE', 'the server offers no TLS: nothing secret was sent', { cause: error });
    }
    await this.#control.secure((socket) => this.#secure?.begin(socket) ?? Promise.reject(storageError('INTERNAL')));
  }

  /** Undefined where the server does not want it. */
  async #askedFor(verb: string, argument?: string): Promise<Reply | undefined> {
    try {
      return await this.#control.ask(verb, argument);
    } catch (error) {
      if (isRefusal(error)) return undefined;
      throw error;
    }
  }

  /** EPSV (RFC 2428), which works for every address; PASV for servers that do not know it. What address either names is passed over. */
  async #passivePort(): Promise<number> {
    if (this.#knowsEpsv) {
      try {
        const { lines } = await this.#control.ask('EPSV');
        return portOf(/\((.)\1\1(\d{1,5})\1\)/.exec(lines.join(' '))?.[2]);
      } catch (error) {
        if (!isUnknownCommand(error) && !(isRefusal(error) && error.code === 522)) throw error;
        this.#knowsEpsv = false;
      }
    }
    const { lines } = await this.#control.ask('PASV');
    const [, high, low] = /\d{1,3},\d{1,3},\d{1,3},\d{1,3},(\d{1,3}),(\d{1,3})/.exec(lines.join(' ')) ?? [];
    return portOf(high === undefined ? undefined : Number(high) * 256 + Number(low));
  }
}

/** Ends a connection for data over which nothing has come or gone for so long. */
export function endWhenSilent(socket: Socket, silentMs: number): void {
  socket.setTimeout(silentMs, () => socket.destroy(new AppError('DEADLINE_EXCEEDED', 'the server did not answer in time')));
}

/** Below are the ports of services: no data waits there. */
const LEAST_PORT = 1024;

function portOf(text: string | number | undefined): number {
  const port = Number(text);
  if (!Number.isInteger(port) || port < LEAST_PORT || port > 65_535) {
    throw new AppError('STORAGE_UNAVAILABLE', 'the server names no port for data');
  }
  return port;
}

/** The TLS of one login: connections for data go on with the session of the one for commands, as servers want that know by it whose they are. */
class SecureSockets {
  readonly isImplicit: boolean;
  readonly #options: tls.ConnectionOptions;
  #session: Buffer | undefined;

  constructor(host: string, { isImplicit, verifies }: TlsSettings, trust: SecureContext | undefined) {
    this.isImplicit = isImplicit;
    this.#options = {
      ...(isIP(host) === 0 ? { servername: host } : {}),
      host,
      rejectUnauthorized: verifies,
      ...(trust && { secureContext: trust }),
    };
  }

  /** @throws AppError STORAGE_UNAVAILABLE */
  async begin(socket: Socket): Promise<TLSSocket> {
    const secured = tls.connect({ ...this.#options, socket });
    secured.on('session', (session) => {
      this.#session = session;
    });
    return handshake(secured);
  }

  /** @throws AppError STORAGE_UNAVAILABLE */
  async goOn(socket: Socket): Promise<TLSSocket> {
    return handshake(tls.connect({ ...this.#options, socket, session: this.#session }));
  }
}

async function handshake(secured: TLSSocket): Promise<TLSSocket> {
  const { promise, resolve, reject } = Promise.withResolvers<TLSSocket>();
  secured.once('secureConnect', () => resolve(secured));
  secured.on('error', reject).once('close', () => reject(new Error('closed')));
  try {
    return await promise;
  } catch (error) {
    secured.destroy();
    throw toTlsError(error);
  }
}
