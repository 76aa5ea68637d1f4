import type { TimeLimit } from '../command/time-limit.ts';
import type { Filter } from '../query/filter.ts';
import type { Collection } from '../storage/collection.ts';
import { findDocuments } from './find-documents.ts';
import { coveringRanges } from './plan.ts';

/**
 * How many documents match, up to `most`. Where an index tells it no document is read, and others wait for no longer than it takes to step over its keys.
 *
 * @throws CommandError as findDocuments() does
 */
export function countDocuments(collection: Collection, filter: Filter, most: number, timeLimit: TimeLimit): number {
  if (filter.exact && filter.conjuncts.length === 0) return Math.min(collection.count, most);
  const covering = coveringRanges(collection, filter);
  let found = 0;
  if (covering) {
    covering.index.assertPresent();
    for (const range of covering.ranges) found += covering.index.table.count(range, Math.min(Number.MAX_SAFE_INTEGER, most) - found);
    return found;
  }
  for (const _ of findDocuments(collection, { filter, sort: undefined, limit: undefined, timeLimit })) if (++found >= most) break;
  return found;
}
