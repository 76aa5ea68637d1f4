import { createServer, type Server, Socket } from 'node:net';
import { deserialize } from 'bson';

/** What passed to a store and back. */
export interface Passed {
  commands: number;
  /** In the answers of reads, and of writes that answer one. */
  documents: number;
}

/** The way of all replicas of one service to the store, which counts what they ask. */
export interface StoreMeter {
  readonly url: string;
  /** Since the last time, by command and collection; what drivers ask by themselves is left out. */
  take(): Map<string, Passed>;
  stop(): Promise<void>;
}

// Of the MongoDB wire protocol.
const HEADER_BYTES = 16;
const OP_MSG = 2013;
/** Flags, then the kind of the first section: a document. */
const BODY_AT = HEADER_BYTES + 5;
const BSON_STRING = 2;
const OF_DRIVERS = new Set(['hello', 'ismaster', 'isMaster', 'ping', 'endSessions', 'killCursors', 'saslStart', 'saslContinue']);

/** @param store its address; databases and options of it are kept */
export async function startStoreMeter(store: string): Promise<StoreMeter> {
  const target = new URL(store);
  /** Of a socket, where the store listens on one. */
  const path = decodeURIComponent(target.hostname);
  let counts = new Map<string, Passed>();
  const count = (key: string, documents: number | undefined) => {
    const passed = counts.get(key) ?? { commands: 0, documents: 0 };
    counts.set(key, passed);
    if (documents === undefined) passed.commands += 1;
    else passed.documents += documents;
  };
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const upstream = new Socket();
    if (path.startsWith('/')) upstream.connect({ path });
    else upstream.connect(Number(target.port), target.hostname);
    /** Who was asked what, by the number of the message. */
    const asked = new Map<number, string>();
    const onAsked = readMessages((message) => {
      const key = keyOf(message);
      if (key === undefined) return;
      asked.set(message.readInt32LE(4), key);
      count(key, undefined);
    });
    const onAnswered = readMessages((message) => {
      const key = asked.get(message.readInt32LE(8));
      if (key === undefined) return;
      asked.delete(message.readInt32LE(8));
      count(key, documentsIn(message));
    });
    for (const [from, to, read] of [
      [client, upstream, onAsked],
      [upstream, client, onAnswered],
    ] as const) {
      sockets.add(from);
      from.setNoDelay(true).on('data', read).pipe(to);
      from.on('error', () => to.destroy());
      from.on('close', () => {
        sockets.delete(from);
        to.destroy();
      });
    }
  });
  const port = await listen(server);
  const url = `mongodb://127.0.0.1:${port}${target.pathname}${target.search}`;
  return {
    url,
    take() {
      const taken = counts;
      counts = new Map();
      return taken;
    },
    async stop() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function listen(server: Server): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  server.once('error', reject).listen(0, '127.0.0.1', () => {
    const address = server.address();
    if (typeof address === 'object' && address !== null) resolve(address.port);
  });
  return promise;
}

/** Puts whole messages together: each begins with its length. */
function readMessages(onMessage: (message: Buffer) => void): (chunk: Buffer) => void {
  let kept: Buffer = Buffer.alloc(0);
  return (chunk) => {
    kept = kept.length === 0 ? chunk : Buffer.concat([kept, chunk]);
    while (kept.length >= HEADER_BYTES && kept.length >= kept.readInt32LE(0)) {
      const length = kept.readInt32LE(0);
      onMessage(kept.subarray(0, length));
      kept = kept.subarray(length);
    }
  };
}

/** Of a request: `<command> <collection>`, by the first field of its document. */
function keyOf(message: Buffer): string | undefined {
  if (message.readInt32LE(12) !== OP_MSG) return undefined;
  const nameAt = BODY_AT + 5;
  const nameEnd = message.indexOf(0, nameAt);
  const name = message.toString('utf8', nameAt, nameEnd);
  if (OF_DRIVERS.has(name)) return undefined;
  const isNamed = message[nameAt - 1] === BSON_STRING;
  const textAt = nameEnd + 5;
  return isNamed ? `${name} ${message.toString('utf8', textAt, message.indexOf(0, textAt))}` : name;
}

function documentsIn(message: Buffer): number {
  const answer = deserialize(message.subarray(BODY_AT));
  const batch = answer['cursor']?.firstBatch ?? answer['cursor']?.nextBatch;
  if (Array.isArray(batch)) return batch.length;
  return answer['value'] ? 1 : 0;
}
