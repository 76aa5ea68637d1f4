/** What a client says, one by one. Text is latin1 of the bytes on the wire, so that it can be sent on unchanged. */
export type Operation =
  | { readonly kind: 'connect'; readonly json: string }
  | { readonly kind: 'ping' }
  | { readonly kind: 'pong' }
  | { readonly kind: 'sub'; readonly subject: string; readonly queue: string | undefined; readonly sid: string }
  | { readonly kind: 'unsub'; readonly sid: string; readonly max: number | undefined }
  | Message;

export interface Message {
  readonly kind: 'pub';
  readonly subject: string;
  readonly reply: string | undefined;
  /** How many of the first bytes of `content` are headers; undefined: sent as PUB, which has none. */
  readonly headerBytes: number | undefined;
  /** Headers and payload, and behind them the CRLF that ends every message on the wire. */
  readonly content: Buffer;
}

export interface ParserOptions {
  /** Longest line in bytes, its end not counted. */
  maxLineBytes: number;
  /** Most bytes of headers and payload together. */
  maxPayloadBytes: number;
  /** Whether messages are taken yet: before that none gets memory. */
  mayPublish: () => boolean;
  onOperation: (operation: Operation) => void;
  /** The stream is broken: the text for -ERR. Nothing more is parsed. */
  onViolation: (text: string) => void;
}

export interface Parser {
  /** Takes the next bytes, cut anywhere. `content` of a message may be a view of them: they must not be written to later. */
  push(chunk: Buffer): void;
  /** Ignores all that follows. */
  stop(): void;
}

export const UNKNOWN_OPERATION = 'Unknown Protocol Operation';
export const NOT_LOGGED_IN = 'Authorization Violation';

const LF = 10;
const CRLF_BYTES = 2;

type Head = Omit<Message, 'content'> & { readonly totalBytes: number };

/** Parses the client side of the NATS protocol (https://docs.nats.io/reference/reference-protocols/nats-protocol). */
export function createParser({ maxLineBytes, maxPayloadBytes, mayPublish, onOperation, onViolation }: ParserOptions): Parser {
  let stopped = false;
  /** A line whose end has not come. */
  let line = Buffer.alloc(0);
  /** A message whose content has not all come: `content` is filled up to `filledBytes`. */
  let open: { head: Head; content: Buffer; filledBytes: number } | undefined;

  const violate = (text: string) => {
    stopped = true;
    onViolation(text);
  };

  const finish = ({ totalBytes, ...head }: Head, content: Buffer) => {
    if (content.toString('latin1', totalBytes) === '\r\n') onOperation({ ...head, content });
    else violate(UNKNOWN_OPERATION);
  };

  /** Answers the number of bytes it used. */
  const takeContent = (pending: { head: Head; content: Buffer; filledBytes: number }, bytes: Buffer): number => {
    const used = bytes.copy(pending.content, pending.filledBytes);
    pending.filledBytes += used;
    if (pending.filledBytes === pending.content.length) {
      open = undefined;
      finish(pending.head, pending.content);
    }
    return used;
  };

  /** Handles one line; answers how many of the bytes behind it were used. */
  const takeLine = (text: string, behind: Buffer): number => {
    const parsed = parseLine(text);
    if (parsed === undefined) violate(UNKNOWN_OPERATION);
    else if (!('totalBytes' in parsed)) onOperation(parsed);
    else if (!mayPublish()) violate(NOT_LOGGED_IN);
    else if (parsed.totalBytes > maxPayloadBytes) violate('Maximum Payload Violation');
    else {
      const wanted = parsed.totalBytes + CRLF_BYTES;
      if (behind.length >= wanted) {
        finish(parsed, behind.subarray(0, wanted));
        return wanted;
      }
      open = { head: parsed, content: Buffer.allocUnsafe(wanted), filledBytes: 0 };
    }
    return 0;
  };

  return {
    push(chunk) {
      let at = 0;
      while (at < chunk.length && !stopped) {
        if (open !== undefined) {
          at += takeContent(open, chunk.subarray(at));
          continue;
        }
        const end = chunk.indexOf(LF, at);
        const part = chunk.subarray(at, end === -1 ? chunk.length : end);
        if (line.length + part.length > maxLineBytes + 1) {
          violate('maximum control line exceeded');
          return;
        }
        if (end === -1) {
          line = Buffer.concat([line, part]);
          return;
        }
        const text = line.toString('latin1') + part.toString('latin1');
        line = Buffer.alloc(0);
        at = end + 1;
        at += takeLine(text.endsWith('\r') ? text.slice(0, -1) : text, chunk.subarray(at));
      }
    },
    stop() {
      stopped = true;
    },
  };
}

function parseLine(line: string): Exclude<Operation, Message> | Head | undefined {
  const [word = '', ...args] = line.split(/[ \t]+/).filter((part) => part !== '');
  switch (word.toUpperCase()) {
    case 'PUB':
      return parsePub(args);
    case 'HPUB':
      return parseHpub(args);
    case 'SUB':
      return parseSub(args);
    case 'UNSUB':
      return parseUnsub(args);
    case 'PING':
      return { kind: 'ping' };
    case 'PONG':
      return { kind: 'pong' };
    case 'CONNECT':
      return { kind: 'connect', json: line.slice(line.toUpperCase().indexOf('CONNECT') + 'CONNECT'.length) };
    default:
      return undefined;
  }
}

/** `PUB <subject> [reply] <bytes>` */
function parsePub(args: readonly string[]): Head | undefined {
  const [subject, reply, size] = args.length === 2 ? [args[0], undefined, args[1]] : args;
  const totalBytes = parseCount(size);
  if (args.length > 3 || subject === undefined || totalBytes === undefined) return undefined;
  return { kind: 'pub', subject, reply, headerBytes: undefined, totalBytes };
}

/** `HPUB <subject> [reply] <header bytes> <all bytes>` */
function parseHpub(args: readonly string[]): Head | undefined {
  const [subject, reply, headers, size] = args.length === 3 ? [args[0], undefined, args[1], args[2]] : args;
  const headerBytes = parseCount(headers);
  const totalBytes = parseCount(size);
  if (args.length > 4 || subject === undefined || headerBytes === undefined || totalBytes === undefined || headerBytes > totalBytes)
    return undefined;
  return { kind: 'pub', subject, reply, headerBytes, totalBytes };
}

/** `SUB <subject> [queue] <sid>` */
function parseSub(args: readonly string[]): (Operation & { kind: 'sub' }) | undefined {
  const [subject, queue, sid] = args.length === 2 ? [args[0], undefined, args[1]] : args;
  if (args.length > 3 || subject === undefined || sid === undefined) return undefined;
  return { kind: 'sub', subject, queue, sid };
}

/** `UNSUB <sid> [max]` */
function parseUnsub(args: readonly string[]): (Operation & { kind: 'unsub' }) | undefined {
  const [sid, most] = args;
  const max = parseCount(most);
  if (args.length > 2 || sid === undefined || (most !== undefined && max === undefined)) return undefined;
  return { kind: 'unsub', sid, max };
}

/** Nine digits at most: far above every limit, far below where numbers lose precision. */
function parseCount(text: string | undefined): number | undefined {
  return text !== undefined && /^\d{1,9}$/.test(text) ? Number(text) : undefined;
}
