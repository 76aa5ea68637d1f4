import { COMMAND_AT, isCommand, type StoreWay, startStoreWay } from '@wharf/harness';
import mongoose from 'mongoose';

/** A query as a service asked it. */
export interface AskedQuery {
  readonly collection: string;
  readonly filter: Readonly<Record<string, unknown>>;
  readonly sort: Readonly<Record<string, unknown>> | undefined;
}

/** A way to a store that remembers one query of each shape: what looks, and what looks for what it changes. */
export interface QueryRecorder extends StoreWay {
  queries(): AskedQuery[];
}

type Fields = Record<string, unknown>;

/** @param store its address */
export async function startQueryRecorder(store: string): Promise<QueryRecorder> {
  const known = new Map<string, AskedQuery>();
  const way = await startStoreWay(store, () => ({
    asked(message) {
      if (isCommand(message)) for (const query of queriesOf(message)) known.set(shapeOf(query), query);
    },
  }));
  return { ...way, queries: () => [...known.values()] };
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
  const body = read(COMMAND_AT);
  const documents = [...((body['updates'] ?? body['deletes'] ?? []) as Fields[])];
  for (
    let at = COMMAND_AT + message.readInt32LE(COMMAND_AT);
    at < message.length && message[at] === 1;
    at += 1 + message.readInt32LE(at + 1)
  ) {
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
