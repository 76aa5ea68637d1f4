import { forgettable, memoryBytes } from '@wharf/pace';
import { type MountPath, pathWeight } from '@wharf/paths';
import { LRUCache } from 'lru-cache';
import { OwnPart } from '../../driver-contract/own-part.ts';
import type { Entry } from '../../driver-contract/storage-driver.ts';

/** What a worker saw of some entries of a folder. */
export interface SeenEntries {
  /** Their names. */
  readonly text: string;
  readonly packed: Float64Array;
}

/**
 * Of all storages together so many entries are enough for the folders in use, and where names or paths are long fewer. Each takes about 300 bytes, and up to a
 * KiB more for what was written of it (`page-writer.ts`): an eighth of the memory at most.
 */
const MAX_KEPT_ENTRIES = Math.min(60_000, Math.floor(memoryBytes() / 8 / 1_324));

type Kept = SeenEntries & { readonly entries: readonly Entry[] };

const keptOfAll = forgettable(
  new LRUCache<string, Kept>({
    maxSize: MAX_KEPT_ENTRIES,
    sizeCalculation: ({ entries, text }, key) => entries.length + pathWeight(key) + pathWeight(text),
  }),
);

/**
 * The entries that were made of what a worker saw last in each folder. Everything is looked at afresh each time; only when nothing differs
 * the same array is answered again, so that whatever was made of it holds too.
 */
export class LastSeenEntries {
  readonly #kept = new OwnPart(keptOfAll);

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
