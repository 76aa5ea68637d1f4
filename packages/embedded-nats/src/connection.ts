import { createHash, randomInt, timingSafeEqual } from 'node:crypto';
import type { Socket } from 'node:net';
import { createParser, type Message, NOT_LOGGED_IN, type Operation, UNKNOWN_OPERATION } from './parser.ts';
import type { Router, Subscription } from './router.ts';
import { isLiteralSubject, isPattern } from './subject.ts';

/** What nats-server has by default. */
export const MAX_PAYLOAD_BYTES = 1024 * 1024;
const MAX_LINE_BYTES = 4096;
/** A connection that has not logged in by then is closed; nats-server's default too. */
const LOGIN_WITHIN_MS = 2000;
/** How many PINGs may be unanswered when the next is due. */
const MAX_UNANSWERED_PINGS = 2;
/** How long the other side has to take the last words before the connection is cut. */
const CLOSE_WITHIN_MS = 1000;
/** Up to here a message is copied into one piece with its line: cheaper than two writes, and it does not keep the bytes it came with in memory. */
const COPY_BYTES = 16 * 1024;

const NO_RESPONDERS = Buffer.from('NATS/1.0 503\r\n\r\n\r\n', 'latin1');

/** A subscription and the connection it belongs to. */
export interface Subscriber extends Subscription {
  readonly connection: Connection;
  readonly sid: string;
  deliveredCount: number;
  /** Ends after this many messages. */
  max: number | undefined;
}

export interface ConnectionOptions {
  socket: Socket;
  router: Router<Subscriber>;
  /** The INFO line's JSON. */
  info: object;
  token: string;
  maxPendingBytes: number;
}

/** The server's side of one client. */
export class Connection {
  readonly #socket: Socket;
  readonly #router: Router<Subscriber>;
  readonly #token: string;
  readonly #maxPendingBytes: number;
  readonly #subscribers = new Map<string, Subscriber>();
  readonly #loginTimer: NodeJS.Timeout;
  #client: ClientOptions | undefined;
  #unansweredPings = 0;
  #isClosed = false;

  constructor({ socket, router, info, token, maxPendingBytes }: ConnectionOptions) {
    this.#socket = socket;
    this.#router = router;
    this.#token = token;
    this.#maxPendingBytes = maxPendingBytes;
    this.#loginTimer = setTimeout(() => this.#fail('Authentication Timeout'), LOGIN_WITHIN_MS);
    const parser = createParser({
      maxLineBytes: MAX_LINE_BYTES,
      maxPayloadBytes: MAX_PAYLOAD_BYTES,
      mayPublish: () => this.#client !== undefined,
      onOperation: (operation) => {
        this.#handle(operation);
        if (this.#isClosed) parser.stop();
      },
      onViolation: (text) => this.#fail(text),
    });
    socket.setNoDelay(true);
    socket.on('data', (chunk) => {
      if (this.#isClosed) return;
      this.#unansweredPings = 0;
      parser.push(chunk);
    });
    // A reset connection ends like any other: `close` follows.
    socket.on('error', () => undefined);
    socket.once('close', () => this.#forget());
    this.#write(`INFO ${JSON.stringify(info)}\r\n`);
  }

  /** To be called at each keep-alive interval: asks for a sign of life, or ends the connection when the last ones were not answered. */
  keepAlive(): void {
    if (this.#unansweredPings >= MAX_UNANSWERED_PINGS) {
      this.#fail('Stale Connection');
      return;
    }
    this.#unansweredPings += 1;
    this.#write('PING\r\n');
  }

  get isLoggedIn(): boolean {
    return this.#client !== undefined;
  }

  /** Ends the connection at once. */
  destroy(): void {
    this.#forget();
    this.#socket.destroy();
  }

  /** Ends the connection once what is under way was sent. */
  close(lastWords = ''): void {
    if (this.#isClosed) return;
    this.#forget();
    this.#socket.end(lastWords, 'latin1');
    setTimeout(() => this.#socket.destroy(), CLOSE_WITHIN_MS).unref();
  }

  /** Hands a message to one of our subscribers; false when it does not get there. */
  deliver(subscriber: Subscriber, message: Message, publisher: Connection): boolean {
    const client = this.#client;
    if (client === undefined || this.#isClosed || (publisher === this && !client.echo)) return false;
    subscriber.deliveredCount += 1;
    if (subscriber.max !== undefined && subscriber.deliveredCount >= subscriber.max) this.#remove(subscriber);
    const { subject, reply, headerBytes } = message;
    const content = headerBytes !== undefined && !client.headers ? message.content.subarray(headerBytes) : message.content;
    const sizeBytes = content.length - 2;
    const target = `${subject} ${subscriber.sid}${reply === undefined ? '' : ` ${reply}`}`;
    this.#send(
      headerBytes !== undefined && client.headers ? `HMSG ${target} ${headerBytes} ${sizeBytes}\r\n` : `MSG ${target} ${sizeBytes}\r\n`,
      content,
    );
    return true;
  }

  #handle(operation: Operation): void {
    if (operation.kind === 'connect') this.#connect(operation.json);
    else if (this.#client === undefined) this.#fail(NOT_LOGGED_IN);
    else if (operation.kind === 'ping') this.#write('PONG\r\n');
    else if (operation.kind === 'sub') this.#subscribe(operation.subject, operation.queue, operation.sid);
    else if (operation.kind === 'unsub') this.#unsubscribe(operation.sid, operation.max);
    else if (operation.kind === 'pub') this.#publish(operation, this.#client);
  }

  #connect(json: string): void {
    const client = parseClientOptions(json);
    if (client === undefined) this.#fail(UNKNOWN_OPERATION);
    else if (!isSameSecret(client.token, this.#token)) this.#fail(NOT_LOGGED_IN);
    else if (client.noResponders && !client.headers) this.#fail('no responders requires headers support');
    else {
      this.#client = client;
      clearTimeout(this.#loginTimer);
      this.#acknowledge();
    }
  }

  #subscribe(pattern: string, queue: string | undefined, sid: string): void {
    if (!isPattern(pattern)) {
      this.#complain('Invalid Subject');
      return;
    }
    if (!this.#subscribers.has(sid)) {
      const subscriber: Subscriber = { connection: this, pattern, queue, sid, deliveredCount: 0, max: undefined };
      this.#subscribers.set(sid, subscriber);
      this.#router.add(subscriber);
    }
    this.#acknowledge();
  }

  #unsubscribe(sid: string, max: number | undefined): void {
    const subscriber = this.#subscribers.get(sid);
    if (subscriber !== undefined) {
      // A limit that was reached already ends it at once; 0 is no limit.
      if (max !== undefined && max > subscriber.deliveredCount) subscriber.max = max;
      else this.#remove(subscriber);
    }
    this.#acknowledge();
  }

  #publish(message: Message, client: ClientOptions): void {
    if (message.headerBytes !== undefined && !client.headers) {
      this.#fail('message headers not supported');
      return;
    }
    if (!isLiteralSubject(message.subject)) {
      this.#complain('Invalid Publish Subject');
      return;
    }
    this.#acknowledge();
    const { plain, groups } = this.#router.find(message.subject);
    let receivers = 0;
    for (const subscriber of plain) if (subscriber.connection.deliver(subscriber, message, this)) receivers += 1;
    for (const group of groups) if (deliverToOne(group, message, this)) receivers += 1;
    if (receivers === 0 && message.reply !== undefined && client.noResponders) this.#answerNoResponders(message.reply);
  }

  /** A request that nobody hears is answered at once, by headers alone, if this client listens for the answer. */
  #answerNoResponders(reply: string): void {
    const { plain, groups } = this.#router.find(reply);
    const own = [...plain, ...groups.flat()].find((subscriber) => subscriber.connection === this);
    if (own !== undefined) this.#send(`HMSG ${reply} ${own.sid} 16 16\r\n`, NO_RESPONDERS);
  }

  #remove(subscriber: Subscriber): void {
    this.#subscribers.delete(subscriber.sid);
    this.#router.remove(subscriber);
  }

  #acknowledge(): void {
    if (this.#client?.verbose) this.#write('+OK\r\n');
  }

  #complain(text: string): void {
    this.#write(`-ERR '${text}'\r\n`);
  }

  #fail(text: string): void {
    this.close(`-ERR '${text}'\r\n`);
  }

  #send(line: string, content: Buffer): void {
    if (content.length <= COPY_BYTES) {
      const whole = Buffer.allocUnsafe(line.length + content.length);
      whole.write(line, 'latin1');
      content.copy(whole, line.length);
      this.#write(whole);
    } else {
      this.#write(line);
      this.#write(content);
    }
  }

  /** Everything written in one turn of the event loop leaves in one system call. A client that does not read what it asked for is dropped. */
  #write(data: string | Buffer): void {
    if (this.#isClosed) return;
    if (this.#socket.writableCorked === 0) {
      this.#socket.cork();
      process.nextTick(() => this.#socket.uncork());
    }
    this.#socket.write(data, 'latin1');
    if (this.#socket.writableLength > this.#maxPendingBytes) this.destroy();
  }

  #forget(): void {
    this.#isClosed = true;
    clearTimeout(this.#loginTimer);
    for (const subscriber of this.#subscribers.values()) this.#router.remove(subscriber);
    this.#subscribers.clear();
  }
}

/** One member of a group gets the message: any, so that the load is shared; another when that one does not take it. */
function deliverToOne(group: readonly Subscriber[], message: Message, publisher: Connection): boolean {
  const first = randomInt(Math.max(group.length, 1));
  const inTurn = [...group.slice(first), ...group.slice(0, first)];
  return inTurn.some((subscriber) => subscriber.connection.deliver(subscriber, message, publisher));
}

interface ClientOptions {
  readonly verbose: boolean;
  /** Gets its own messages too. */
  readonly echo: boolean;
  readonly headers: boolean;
  readonly noResponders: boolean;
  readonly token: string;
}

/** The JSON of CONNECT; undefined when it is none, or a field has the wrong type. */
function parseClientOptions(latin1: string): ClientOptions | undefined {
  let value: unknown;
  try {
    value = JSON.parse(Buffer.from(latin1, 'latin1').toString('utf8'));
  } catch {
    return undefined;
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
  const fields = new Map<string, unknown>(Object.entries(value));
  const flags = ['verbose', 'echo', 'headers', 'no_responders'].map((name) => fields.get(name) ?? name === 'echo');
  const [verbose, echo, headers, noResponders] = flags;
  const token = fields.get('auth_token') ?? '';
  if (typeof verbose !== 'boolean' || typeof echo !== 'boolean' || typeof headers !== 'boolean' || typeof noResponders !== 'boolean')
    return undefined;
  return typeof token === 'string' ? { verbose, echo, headers, noResponders, token } : undefined;
}

/** Takes the same time whatever the two have in common. */
function isSameSecret(given: string, wanted: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(given), digest(wanted));
}
