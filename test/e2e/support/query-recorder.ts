import { createServer, type Server, Socket } from 'node:net';
import mongoose from 'mongoose';

/** A query as a service asked it. */
export interface AskedQuery {
  readonly collection: string;
  readonly filter: Readonly<Record<string, unknown>>;
  readonly sort: Readonly<Record<string, unknown>> | undefined;
}

/** A way to a store that remembers one query of each shape: what looks, and what looks for what it changes. */
export interface QueryRecorder {
  readonly url: string;
  queries(): AskedQuery[];
  stop(): Promise<void>;
}

// Of the MongoDB wire protocol.
const HEADER_BYTES = 16;
const OP_MSG = 2013;
const BODY_AT = HEADER_BYTES + 5;

type Fields = Record<string, unknown>;

/** @param store its address */
export async function startQueryRecorder(store: string): Promise<QueryRecorder> {
  const target = new URL(store);
  const path = decodeURIComponent(target.hostname);
  const known = new Map<string, AskedQuery>();
  const note = (message: Buffer) => {
    if (message.readInt32LE(12) !== OP_MSG) return;
    for (const query of queriesOf(message)) known.set(shapeOf(query), query);
  };
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const upstream = new Socket();
    if (path.startsWith('/')) upstream.connect({ path });
    else upstream.connect(Number(target.port), target.hostname);
    client.on('data', readMessages(note));
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(from);
      from.setNoDelay(true).pipe(to);
      from.on('error', () => to.destroy());
      from.on('close', () => {
        sockets.delete(from);
        to.destroy();
      });
    }
  });
  return {
    url: `mongodb://127.0.0.1:${await listen(server)}${target.pathname}${target.search}`,
    queries: () => [...known.values()],
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

function queriesOf(message: Buffer): AskedQuery[] {
  const { body, documents } = sectionsOf(message);
  const [command = '', collection] = Object.entries(body)[0] ?? [];
  if (typeof collection !== 'string' || ['listIndexes', 'createIndexes', 'insert', 'create', 'drop'].includes(command)) return [];
  const query = (filter: unknown, sort?: unknown): AskedQuery => ({
    collection,
    filter: (filter ?? {}) as Fields,
    sort: sort === undefined ? undefined : (sort as Fields),
  });
  if (command === 'find') return [query(body['filter'], body['sort'])];
  if (command === 'aggregate') return [query((body['pipeline'] as Fields[])[0]?.['$match'])];
  if (command === 'update' || command === 'delete') return documents.map((each) => query(each['q']));
  return [query(body['query'], body['sort'])];
}

/** The body of a message, and what came beside it: many updates in one command are a section of their own. */
function sectionsOf(message: Buffer): { body: Fields; documents: Fields[] } {
  const read = (at: number) => mongoose.mongo.BSON.deserialize(message.subarray(at, at + message.readInt32LE(at)));
  const body = read(BODY_AT);
  const documents = [...((body['updates'] ?? body['deletes'] ?? []) as Fields[])];
  for (let at = BODY_AT + message.readInt32LE(BODY_AT); at < message.length && message[at] === 1; at += 1 + message.readInt32LE(at + 1)) {
    const end = at + 1 + message.readInt32LE(at + 1);
    for (let next = message.indexOf(0, at + 5) + 1; next < end; next += message.readInt32LE(next)) documents.push(read(next));
  }
  return { body, documents };
}

/** What is asked about and how, without the values. */
function shapeOf({ collection, filter, sort }: AskedQuery): string {
  return `${collection}: ${fieldsOf(filter)}${sort === undefined ? '' : ` by ${Object.keys(sort).join()}`}`;
}

/** The fields of a filter with their operators, as people read them. */
export function fieldsOf(filter: Readonly<Record<string, unknown>>): string {
  const parts = Object.entries(filter).map(([field, value]) => {
    if (Array.isArray(value) && field.startsWith('$')) return `${field}(${value.map((each) => fieldsOf(each as Fields)).join('|')})`;
    const operators = typeof value === 'object' && value !== null ? Object.keys(value).filter((key) => key.startsWith('$')) : [];
    return [field, ...operators].join(' ');
  });
  return parts.sort().join(', ');
}
