import { createPace } from '@wharf/pace';
import { maxPaths, type VirtualPath } from '@wharf/paths';
import { LRUCache } from 'lru-cache';
import type { SearchIndex } from './search-index.ts';

/** Folders that wait at most. */
const MAX_LISTINGS = 1_000;
/** Folders whose last listing is remembered, to tell whether a listing is news. */
const REMEMBERED_LISTINGS = 20_000;
const NAMES_PER_STEP = 1_000;

/** Folders whose listing differs from the last one: their index has still to follow. */
export interface NotedListings {
  /** @returns whether the names are news, as others have had their turn */
  note(path: VirtualPath, names: readonly string[]): Promise<boolean>;
  size(): number;
  /** Drops what waits. */
  clear(): void;
  /** Every listing is news again. */
  forget(): void;
  /** The index follows this listing: if it is the one that waits, nothing does. */
  follow(path: VirtualPath, names: readonly string[]): Promise<void>;
  /**
   * Queues the folders that wait, where the index has them. What the index has not taken waits on.
   *
   * @param isRead whether a folder is being read for the index: its end would take it off the queue, so it waits on
   */
  queueFolders(index: SearchIndex, isRead: (path: VirtualPath) => boolean): Promise<void>;
}

export function createNotedListings(): NotedListings {
  const waiting = new Map<VirtualPath, number>();
  const seen = new LRUCache<VirtualPath, number>(maxPaths(REMEMBERED_LISTINGS));
  /** What is being looked at: the walk may have read the very listing that is to be noted. */
  const looks = new Map<VirtualPath, Promise<number>>();
  const settle = (path: VirtualPath, print: number) => {
    seen.set(path, print);
    if (waiting.get(path) === print) waiting.delete(path);
  };
  return {
    async note(path, names) {
      if (waiting.size >= MAX_LISTINGS) return false;
      const look = printOf(names);
      looks.set(path, look);
      const print = await look;
      if (looks.get(path) === look) looks.delete(path);
      if (seen.get(path) === print) return false;
      waiting.set(path, print);
      return true;
    },
    size: () => waiting.size,
    clear: () => waiting.clear(),
    forget: () => seen.clear(),
    async follow(path, names) {
      await looks.get(path);
      if (!waiting.has(path)) return;
      const print = await printOf(names);
      if (waiting.get(path) === print) settle(path, print);
    },
    async queueFolders(index, isRead) {
      if (waiting.size === 0) return;
      const { generation } = await index.readState();
      for (const path of [...waiting.keys()]) {
        const print = waiting.get(path);
        if (print === undefined) continue;
        // One that the index never takes is the last next time.
        waiting.delete(path);
        waiting.set(path, print);
        const folder = await index.findFolder(path);
        if (isRead(path)) continue;
        if (folder && folder.depth !== 0) await index.requeue(path, generation, false);
        settle(path, print);
      }
    },
  };
}

/** A number that other names hardly have too (FNV-1a). A folder may have hundreds of thousands of names. */
async function printOf(names: readonly string[]): Promise<number> {
  const pace = createPace();
  let print = 0x811c9dc5 ^ names.length;
  for (const [at, name] of names.entries()) {
    if (at % NAMES_PER_STEP === 0) await pace.step();
    for (let unit = 0; unit < name.length; unit += 1) print = Math.imul(print ^ name.charCodeAt(unit), 0x01000193);
    print = Math.imul(print ^ 0x2f, 0x01000193);
  }
  return print;
}
