import mongoose from 'mongoose';
import { type AskedQuery, fieldsOf } from './query-recorder.ts';

/** So many documents of a collection are enough for a plan. */
const MAX_DOCUMENTS = 200;

/**
 * Asks a real engine (FerretDB on DocumentDB) for its plan of each query, over the indexes and some of the documents of a store.
 *
 * @returns `<collection>: <fields>` of queries that read a whole collection although they ask for a part of it
 */
export async function findScans(engine: string, store: string, queries: readonly AskedQuery[]): Promise<string[]> {
  const [from, to] = [await open(store), await open(`${engine}plans`)];
  try {
    for (const collection of new Set(queries.map((query) => query.collection))) await copyCollection(from.db, to.db, collection);
    const scans: string[] = [];
    for (const { collection, filter, sort } of queries) {
      // All of it is wanted.
      if (Object.keys(filter).length === 0) continue;
      const find = { find: collection, filter, ...(sort && { sort }) };
      const plan = await to.db.command({ explain: find, verbosity: 'queryPlanner' });
      if (!isNarrowed(plan['queryPlanner'])) scans.push(`${collection}: ${fieldsOf(filter)}`);
    }
    return [...new Set(scans)].sort();
  } finally {
    await from.close();
    await to.close();
  }
}

type Db = mongoose.mongo.Db;

async function open(url: string): Promise<{ db: Db; close: () => Promise<void> }> {
  const connection = await mongoose.createConnection(url).asPromise();
  if (!connection.db) throw new Error(`${url} has no database`);
  return { db: connection.db, close: () => connection.close() };
}

async function copyCollection(from: Db, to: Db, name: string): Promise<void> {
  await to.createCollection(name);
  for (const { key, v: _version, ...options } of await from.collection(name).indexes()) {
    if (options.name !== '_id_') await to.collection(name).createIndex(key, options);
  }
  const documents = await from.collection(name).find().limit(MAX_DOCUMENTS).toArray();
  if (documents.length > 0) await to.collection(name).insertMany(documents);
}

/** Every document lies under the key of its collection, which each plan names; an index narrows a query down where it names more. */
function isNarrowed(plan: unknown): boolean {
  if (Array.isArray(plan)) return plan.some(isNarrowed);
  if (typeof plan !== 'object' || plan === null) return false;
  const node = plan as Record<string, unknown>;
  const index = node['Index Name'] ?? node['indexName'];
  if (typeof index === 'string' && index !== '_id_' && !('totalCost' in node)) return true;
  if (String(node['Index Cond'] ?? '').includes('object_id')) return true;
  return Object.values(node).some(isNarrowed);
}
