import { type MountPath, pathWeight } from '@wharf/paths';
import { LRUCache } from 'lru-cache';
import type { Entry } from '../../driver-contract/storage-driver.ts';

/** What a worker saw of some entries of a folder. */
export interface SeenEntries {
  /** Their names. */
  readonly text: string;
  readonly packed: Float64Array;
}

/** All storages together would keep more than they need: so many entries (about 300 bytes each, and where names or paths are long fewer) are enough for the folders in use. */
const MAX_KEPT_ENTRIES = 20_000;

/**
 * The entries that were made of what a worker saw last in each folder. Everything is looked at afresh each time; only when nothing differs
 * the same array is answered again, so that whatever was made of it holds too.
 */
export class LastSeenEntries {
  readonly #kept = new LRUCache<MountPath, SeenEntries & { readonly entries: readonly Entry[] }>({
    maxSize: MAX_KEPT_ENTRIES,
    sizeCalculation: ({ entries, text }, directory) => entries.length + pathWeight(directory) + pathWeight(text),
  });

  entriesOf(directory: MountPath, seen: SeenEntries, unpack: () => readonly Entry[]): readonly Entry[] {
    const known = this.#kept.get(directory);
    if (known !== undefined && known.text === seen.text && isEqual(known.packed, seen.packed)) return known.entries;
    const entries = unpack();
    this.#kept.set(directory, { ...seen, entries });
    return entries;
  }
}

function isEqual(left: Float64Array, right: Float64Array): boolean {
  return left === right || bytesOf(left).equals(bytesOf(right));
}

function bytesOf({ buffer, byteOffset, byteLength }: Float64Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}
