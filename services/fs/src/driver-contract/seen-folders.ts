import { maxPaths } from '@wharf/paths';
import { LRUCache } from 'lru-cache';

/** How long a look at a folder counts for what comes into it, in milliseconds. */
const COUNTS_MS = 1_000;
const MAX_SEEN = 1_000;

/**
 * Folders that were seen a moment ago, with what else is known of them, a thousand long names it may be, which goes when the moment is over: files that come into one in a row need one look at it.
 *
 * @param Known what is kept with a folder; `true` where it is enough that it is there
 */
export function createSeenFolders<Folder extends string, Known extends object | true = true>(): LRUCache<Folder, Known> {
  return new LRUCache<Folder, Known>({ ...maxPaths(MAX_SEEN), ttl: COUNTS_MS, ttlAutopurge: true });
}
