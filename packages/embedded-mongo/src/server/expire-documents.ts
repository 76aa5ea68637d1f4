import { keyRange, predicateIntervals } from '../plan/bounds.ts';
import type { Catalog } from '../storage/catalog.ts';
import type { Collection } from '../storage/collection.ts';
import type { SecondaryIndex } from '../storage/secondary-index.ts';

/** Bounds the time that one transaction takes: nothing else is done meanwhile. */
const MAX_AT_ONCE = 500;

/**
 * Removes documents whose indexed date is older than their TTL index allows; of an array of dates the earliest counts.
 *
 * @returns true when there may be more.
 */
export function expireDocuments(catalog: Catalog, now: Date): boolean {
  for (const collection of catalog.all()) {
    for (const index of collection.indexes) {
      const seconds = index.definition.expireAfterSeconds;
      if (seconds === undefined) continue;
      const removed = expireByIndex(collection, index, new Date(now.getTime() - seconds * 1000));
      if (removed >= MAX_AT_ONCE) return true;
    }
  }
  return false;
}

function expireByIndex(collection: Collection, index: SecondaryIndex, latest: Date): number {
  const [dates] = predicateIntervals({ op: 'lte', operand: latest }) ?? [];
  if (!dates) return 0;
  const range = keyRange(Buffer.alloc(0), dates, index.fields[0]?.descending ?? false);
  const records = new Set<number>();
  for (const record of index.table.records(range, false, index.assertPresent)) {
    records.add(record);
    if (records.size >= MAX_AT_ONCE) break;
  }
  for (const record of records) {
    const stored = collection.read(record);
    if (stored) collection.remove(stored);
  }
  return records.size;
}
