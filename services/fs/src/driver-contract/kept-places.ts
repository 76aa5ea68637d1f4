import { maxPaths } from '@wharf/paths';
import { LRUCache } from 'lru-cache';

/** So many places of a storage are remembered in one list; a long one counts as several. */
const MAX_KEPT = 1_000;

/** Places of one storage that something is remembered of. Where there are too many, the oldest are forgotten. */
export function createKeptPlaces<Value extends object | number | true = true>(): LRUCache<string, Value> {
  const { maxSize, sizeCalculation } = maxPaths(MAX_KEPT);
  // Without a number of them: for that the library takes memory at once.
  return new LRUCache<string, Value>({ maxSize, sizeCalculation });
}

/** Whether one more makes none of them forgotten, but for the last few. */
export function hasRoom({ calculatedSize }: Pick<LRUCache<string, true>, 'calculatedSize'>): boolean {
  return calculatedSize < MAX_KEPT;
}
