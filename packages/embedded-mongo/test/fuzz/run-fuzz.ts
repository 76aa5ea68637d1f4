import { mongo } from 'mongoose';
import { isKnownDifference, type Outcome } from './known-differences.ts';
import { Random } from './random.ts';
import { type Operation, randomOperation } from './random-operations.ts';

const { EJSON } = mongo.BSON;

export interface FuzzOptions {
  readonly storeUrl: string;
  readonly engineUrl: string;
  readonly operations: number;
  readonly seed: number;
  /** Independent sequences, each on a collection of its own; they run at the same time. */
  readonly lanes: number;
  /** Ends the run early, after this many milliseconds. */
  readonly withinMs?: number;
  readonly onDifference: (difference: Difference) => void;
}

export interface Difference {
  readonly lane: number;
  readonly step: number;
  readonly operation: string;
  /** What both hold afterwards, and what was written since they were last seen to be equal. */
  readonly contents: readonly [string, string];
  readonly written: string;
  readonly store: string;
  readonly engine: string;
}

export interface FuzzSummary {
  readonly operations: number;
  readonly failures: number;
  readonly differences: number;
  readonly known: number;
  readonly seconds: number;
}

type Side = mongo.Collection<mongo.Document>;

/** A lane starts afresh after so many operations: more shapes of small collections. */
const RESET_EVERY = 400;
const READS: ReadonlySet<string> = new Set(['find', 'count', 'distinct', 'aggregate']);

/** The whole contents are compared this often, besides after each difference. */
const COMPARE_EVERY = 20;

/** Runs the same random operations on the embedded store and on an engine, and compares every answer and, again and again, the contents. */
export async function runFuzz(options: FuzzOptions): Promise<FuzzSummary> {
  const clients = [await mongo.MongoClient.connect(options.storeUrl), await mongo.MongoClient.connect(options.engineUrl)] as const;
  const name = `fuzz_${process.pid}_${options.seed}`;
  const startedMs = performance.now();
  const totals = { operations: 0, failures: 0, differences: 0, known: 0 };
  const perLane = Math.ceil(options.operations / options.lanes);
  const isOver = () => options.withinMs !== undefined && performance.now() - startedMs > options.withinMs;
  try {
    await Promise.all(
      Array.from({ length: options.lanes }, async (_, lane) => {
        const [store, engine] = clients.map((client) => client.db(name).collection(`lane${lane}`, { promoteValues: false }));
        if (!store || !engine) return;
        let written: Operation[] = [];
        const random = new Random(options.seed * 1000 + lane);
        for (let step = 0; step < perLane && !isOver(); step++) {
          if (step % RESET_EVERY === 0) await reset(store, engine);
          const operation = randomOperation(random);
          const [left, right] = await Promise.all([outcome(store, operation), outcome(engine, operation)]);
          totals.operations++;
          if (!READS.has(operation.kind)) written.push(operation);
          if (left.failed || right.failed) totals.failures++;
          let isDifferent = left.text !== right.text;
          let contents: [string, string] | undefined;
          // A failed change of many may have stopped anywhere: MongoDB documents no order.
          const isPartial = left.failed && right.failed && (operation.kind === 'updateMany' || operation.kind === 'insert');
          if (!isDifferent && step % COMPARE_EVERY === 0 && !isPartial) {
            contents = await Promise.all([contentsOf(store), contentsOf(engine)]);
            isDifferent = contents[0] !== contents[1];
          }
          if (isDifferent) {
            contents ??= await Promise.all([contentsOf(store), contentsOf(engine)]);
            if (isKnownDifference(operation, left, right, contents[0] + contents[1])) totals.known++;
            else {
              totals.differences++;
              options.onDifference({
                lane,
                step,
                operation: EJSON.stringify(operation, { relaxed: false }),
                contents,
                written: EJSON.stringify(written, { relaxed: false }),
                store: left.error ?? left.text,
                engine: right.error ?? right.text,
              });
            }
          }
          if (contents) written = [];
          if (isDifferent || isPartial) await copy(engine, store);
        }
      }),
    );
  } finally {
    await Promise.all(clients.map((client) => client.db(name).dropDatabase()));
    await Promise.all(clients.map((client) => client.close()));
  }
  return { ...totals, seconds: Math.round((performance.now() - startedMs) / 1000) };
}

async function reset(store: Side, engine: Side): Promise<void> {
  for (const side of [store, engine]) {
    await side.drop().catch(() => undefined);
    await side.createIndex({ u: 1 }, { unique: true, sparse: true, name: 'u_unique' });
  }
}

/** Makes the first side's contents those of the second. */
async function copy(from: Side, to: Side): Promise<void> {
  const documents = await from.find({}, { sort: { _id: 1 } }).toArray();
  await to.deleteMany({});
  if (documents.length > 0) await to.insertMany(documents);
}

async function contentsOf(side: Side): Promise<string> {
  return EJSON.stringify(await side.find({}, { sort: { _id: 1 } }).toArray(), { relaxed: false });
}

async function outcome(side: Side, operation: Operation): Promise<Outcome> {
  try {
    return { failed: false, text: EJSON.stringify(await perform(side, operation), { relaxed: false }) };
  } catch (error) {
    if (!(error instanceof mongo.MongoServerError)) throw error;
    return { failed: true, text: 'failed', error: `${error.code} ${error.message}` };
  }
}

async function perform(side: Side, operation: Operation): Promise<unknown> {
  switch (operation.kind) {
    case 'insert':
      return (await side.insertMany(operation.documents as mongo.OptionalId<mongo.Document>[], { ordered: operation.ordered }))
        .insertedCount;
    case 'find': {
      const { sort, skip, limit, projection } = operation;
      return side.find(operation.filter, { sort: sort as mongo.Sort, skip, limit, projection, batchSize: 3 }).toArray();
    }
    case 'count':
      return Number(await side.countDocuments(operation.filter));
    case 'distinct':
      return (await side.distinct(operation.key, operation.filter)).map((value) => canonical(value)).sort();
    case 'updateOne':
    case 'updateMany': {
      const result = await side[operation.kind](operation.filter, operation.update, { upsert: operation.upsert });
      return [result.matchedCount, result.modifiedCount, result.upsertedCount].map(Number);
    }
    case 'replaceOne': {
      const result = await side.replaceOne(operation.filter, operation.replacement, { upsert: operation.upsert });
      return [result.matchedCount, result.upsertedCount].map(Number);
    }
    case 'deleteMany':
      return Number((await side.deleteMany(operation.filter)).deletedCount);
    case 'findAndModify': {
      const { filter, update, after, upsert } = operation;
      const sort = operation.sort as mongo.Sort;
      if (!update) return side.findOneAndDelete(filter, { sort });
      return side.findOneAndUpdate(filter, update, { sort, upsert, returnDocument: after ? 'after' : 'before' });
    }
    case 'aggregate': {
      const found = await side.aggregate(operation.pipeline, { batchSize: 3 }).toArray();
      // Which of two equal numbers of different types a group shows depends on the order of its documents, which DocumentDB does not keep.
      return operation.pipeline.some((stage) => '$group' in stage) ? found.map(canonical) : found;
    }
    case 'createIndex':
      await side.createIndex(operation.key, operation.options);
      return 'created';
    case 'dropIndexes':
      return side.dropIndexes();
  }
}

/** Equal numbers of different types are one value of a distinct; which of them is answered is nobody's promise. */
function canonical(value: unknown): string {
  return EJSON.stringify({ value }, { relaxed: true });
}
