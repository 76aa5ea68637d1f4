import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import tls from 'node:tls';
import { drained } from '@wharf/pace';
import { onTestFinished } from 'vitest';

/** What a server is told to do; the rest it does as an honest one with a single file `file` of 1,000 bytes. */
export interface Answers {
  /** Of a command, in place of what it would say; an empty text: nothing at all. */
  readonly reply: (verb: string, argument: string) => string | undefined;
  /** Whether it ends the connection in place of an answer. */
  readonly cuts: (verb: string, argument: string) => boolean;
  /** What comes over a connection for data. A generator that never ends is read as long as anybody takes it. */
  readonly data: (verb: string, argument: string) => Iterable<Buffer>;
  /** Of which command nothing more comes after that, no end neither. */
  readonly stops: (verb: string) => boolean;
  /** With what it proves who it is once `AUTH TLS` is asked for. */
  readonly certificate: { readonly key: string; readonly cert: string };
}

export interface HostileServer {
  readonly port: number;
  /** All commands that it was told, of all connections, as they came. */
  readonly commands: string[];
  /** How many connections for commands and for data are open. */
  openConnections(): number;
}

const HOST = '127.0.0.1';
export const SIZE = 1_000;

/** A server that lets everybody in and says what it is told to. It ends with its test. */
export async function startHostile(answers: Partial<Answers>): Promise<HostileServer> {
  const commands: string[] = [];
  const open = new Set<Socket>();
  const keep = (socket: Socket) => {
    open.add(socket);
    socket.on('error', () => undefined).on('close', () => open.delete(socket));
  };
  const server = createServer((socket) => {
    keep(socket);
    const session = new Session(socket, { ...answers, commands, keep });
    session.begin();
  });
  server.listen(0, HOST);
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
    for (const socket of open) socket.destroy();
  });
  return { port: (server.address() as AddressInfo).port, commands, openConnections: () => open.size };
}

interface World extends Partial<Answers> {
  readonly commands: string[];
  readonly keep: (socket: Socket) => void;
}

class Session {
  #socket: Socket;
  readonly #world: World;
  #data: Promise<Socket> | undefined;
  #rest = '';
  #isSecure = false;

  constructor(socket: Socket, world: World) {
    this.#socket = socket;
    this.#world = world;
  }

  begin(): void {
    this.#say('220 ready');
    this.#listen();
  }

  #listen(): void {
    this.#socket.on('data', (chunk: Buffer) => {
      const lines = (this.#rest + chunk.toString('latin1')).split('\r\n');
      this.#rest = lines.pop() ?? '';
      for (const line of lines) void this.#answer(line);
    });
  }

  async #answer(line: string): Promise<void> {
    const [verb = '', ...words] = line.split(' ');
    const argument = words.join(' ');
    this.#world.commands.push(line);
    if (this.#world.cuts?.(verb, argument)) {
      this.#socket.destroy();
      return;
    }
    const told = this.#world.reply?.(verb, argument);
    if (told !== undefined) {
      if (told !== '') this.#say(told);
      if (verb === 'EPSV' || verb === 'PASV') return;
      if (!/^1/.test(told)) return;
    }
    switch (verb) {
      case 'AUTH':
        return this.#secure();
      case 'USER':
        return this.#say('331 and the password');
      case 'FEAT':
        return this.#say('211-Features\r\n MLST type*;size*;modify*;\r\n211 End');
      case 'MLST':
        return this.#say(
          /\/(?:root|folder)$/.test(argument) ? listed('dir', argument) : argument.endsWith('/file') ? listed('file', argument) : '550 no',
        );
      case 'CWD':
        return this.#say('250 there');
      case 'MKD':
        return this.#say('550 no');
      case 'EPSV':
        return this.#say(`229 here (|||${await this.#listenForData()}|)`);
      case 'MLSD':
      case 'LIST':
      case 'RETR':
        return this.#send(verb, argument, told === undefined);
      default:
        return this.#say('200 fine');
    }
  }

  async #listenForData(): Promise<number> {
    const listener = createServer().listen(0, HOST);
    await once(listener, 'listening');
    this.#data = once(listener, 'connection').then(([socket]: Socket[]) => {
      listener.close();
      if (socket === undefined) throw new Error('no connection');
      this.#world.keep(socket);
      return socket;
    });
    onTestFinished(() => void listener.close());
    return (listener.address() as AddressInfo).port;
  }

  async #send(verb: string, argument: string, saysSo: boolean): Promise<void> {
    if (saysSo) this.#say('150 it comes');
    const plain = await this.#data;
    const socket = plain && this.#isSecure ? this.#wrap(plain) : plain;
    if (!socket) return this.#say('425 no connection');
    if (socket !== plain) await Promise.race([once(socket, 'secure'), once(socket, 'close')]);
    for (const piece of this.#world.data?.(verb, argument) ?? []) {
      if (socket.destroyed) return this.#say('426 gone');
      if (!socket.write(piece)) await drained(socket);
    }
    if (this.#world.stops?.(verb)) return;
    socket.end();
    this.#say('226 done');
  }

  #secure(): void {
    if (!this.#world.certificate) {
      this.#say('502 no TLS');
      return;
    }
    this.#socket.removeAllListeners('data');
    this.#socket.write('234 begin\r\n');
    this.#socket = this.#wrap(this.#socket);
    this.#isSecure = true;
    this.#listen();
  }

  #wrap(socket: Socket): Socket {
    return new tls.TLSSocket(socket, { isServer: true, ...this.#world.certificate }).on('error', () => undefined);
  }

  #say(text: string): void {
    if (!this.#socket.destroyed) this.#socket.write(`${text}\r\n`, 'latin1');
  }
}

function listed(type: string, place: string): string {
  return `250-it is\r\n type=${type};size=${SIZE};modify=20210304050607; ${place}\r\n250 End`;
}
