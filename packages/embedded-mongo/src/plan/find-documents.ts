import { KeyWriter } from '../bson/key-encoding.ts';
import { CommandError } from '../command/command-error.ts';
import type { TimeLimit } from '../command/time-limit.ts';
import type { Filter } from '../query/filter.ts';
import { type KeyPattern, sortKey } from '../query/key-pattern.ts';
import type { Collection, StoredDocument } from '../storage/collection.ts';
import { choosePlan, type Plan } from './plan.ts';

/** Memory for the keys of a sort; as MongoDB's limit for a sort. */
const MAX_SORT_BYTES = 100 * 1024 * 1024;
/** What a sorted document takes besides its key. */
const SORT_ENTRY_BYTES = 64;

export interface FindQuery {
  readonly filter: Filter;
  readonly sort: KeyPattern | undefined;
  /** No more than this many documents will be taken; undefined: all. */
  readonly limit: number | undefined;
  readonly timeLimit: TimeLimit;
}

/**
 * The documents that match, in order, read as they are asked for. Changes may be made between two steps: a document that no longer matches
 * when its turn comes is left out.
 *
 * @throws CommandError QueryExceededMemoryLimitNoDiskUseAllowed, MaxTimeMSExpired, QueryPlanKilled
 */
export function* findDocuments(collection: Collection, query: FindQuery): Generator<StoredDocument> {
  for (const stored of lookForDocuments(collection, query)) if (stored) yield stored;
}

/** The same, and undefined for each that was looked at and does not match: whoever takes them may pause there. */
export function* lookForDocuments(collection: Collection, query: FindQuery): Generator<StoredDocument | undefined> {
  const plan = choosePlan(collection, query.filter, query.sort);
  noteScan(collection, query.filter, plan);
  if (query.sort === undefined || query.sort.length === 0 || (plan.kind === 'index' && plan.isSorted)) {
    yield* looks(collection, planRecords(collection, plan), query);
    return;
  }
  const records = sortedRecords(collection, plan, query, query.sort);
  yield* looks(collection, records, query);
}

/** A query that asks for something, but reads everything. */
function noteScan(collection: Collection, { exact, conjuncts }: Filter, plan: Plan): void {
  const asksForAll = exact && conjuncts.length === 0;
  if (!asksForAll && !(plan.kind === 'index' && plan.isNarrow)) collection.noteScan(conjuncts.map(({ path }) => path));
}

function* looks(collection: Collection, records: Iterable<number>, query: FindQuery): Generator<StoredDocument | undefined> {
  for (const record of query.timeLimit.over(records)) {
    const stored = collection.read(record);
    yield stored && query.filter.matches(stored.doc) ? stored : undefined;
  }
}

/** Candidates in the plan's order, each once. @internal for its test */
export function* planRecords(collection: Collection, plan: Plan): Generator<number> {
  if (plan.kind === 'all') {
    yield* collection.records();
    return;
  }
  const { index, reverse } = plan;
  const ranges = reverse ? plan.ranges.toReversed() : plan.ranges;
  // A document with several keys comes once for each of them.
  const seen = index.multikey ? new Set<number>() : undefined;
  for (const range of ranges) {
    for (const record of index.table.records(range, reverse, index.assertPresent)) {
      if (seen?.has(record)) continue;
      seen?.add(record);
      yield record;
    }
  }
}

interface SortEntry {
  readonly key: Buffer;
  readonly record: number;
}

/** Keeps keys only; the documents are read again in order. Equal keys stay in order of insertion. */
function sortedRecords(collection: Collection, plan: Plan, query: FindQuery, sort: KeyPattern): number[] {
  const writer = new KeyWriter();
  const limit = query.limit ?? Number.POSITIVE_INFINITY;
  let entries: SortEntry[] = [];
  let sizeBytes = 0;
  for (const stored of looks(collection, planRecords(collection, plan), query)) {
    if (!stored) continue;
    const { doc, record } = stored;
    const key = sortKey(doc, sort, writer);
    entries.push({ key, record });
    sizeBytes += key.length + SORT_ENTRY_BYTES;
    if (entries.length >= 2 * limit + 1000) {
      entries = entries.sort(compareEntries).slice(0, limit);
      sizeBytes = entries.reduce((sum, entry) => sum + entry.key.length + SORT_ENTRY_BYTES, 0);
    }
    if (sizeBytes > MAX_SORT_BYTES) {
      throw new CommandError('QueryExceededMemoryLimitNoDiskUseAllowed', 'the sort needs more memory than the store allows; add an index');
    }
  }
  const sorted = entries.sort(compareEntries).slice(0, limit === Number.POSITIVE_INFINITY ? undefined : limit);
  return sorted.map((entry) => entry.record);
}

function compareEntries(a: SortEntry, b: SortEntry): number {
  return Buffer.compare(a.key, b.key) || a.record - b.record;
}
