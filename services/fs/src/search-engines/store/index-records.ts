import { type IndexEntryRecord, isDuplicateKey } from '@wharf/models';
import type { EntryName, VirtualPath } from '@wharf/paths';
import { foldCase, gramsOf } from '../../domain/search/keywords.ts';
import type { IndexedEntry } from '../../domain/search/search-index.ts';

/** Records that travel in one command. */
export const BATCH = 500;

/** The record of an entry in the folder of this id. */
export function recordOf(folder: string, { name, isDirectory, sizeBytes }: IndexedEntry): IndexEntryRecord {
  return { _id: idOf(folder, name), folder, name, is_dir: isDirectory, size: Math.trunc(sizeBytes), grams: gramsOf(foldCase(name)) };
}

/** The id of an entry begins with that of its folder. */
export function idOf(folder: string, name: EntryName): string {
  return `${folder}/${name}`;
}

/** Conditions that together match a folder and all below it. */
export function subtree(path: VirtualPath): Array<{ path: string | Range }> {
  return path === '/' ? [{ path: within('') }] : [{ path }, { path: within(path) }];
}

export interface Range {
  readonly $gte: string;
  readonly $lt: string;
}

/** All that begins with a text and a slash. "0" follows "/" in the order of bytes. */
export function within(start: string): Range {
  return { $gte: `${start}/`, $lt: `${start}0` };
}

export function* batches<Item>(items: readonly Item[], size = BATCH): Generator<Item[]> {
  for (let start = 0; start < items.length; start += size) yield items.slice(start, start + size);
}

/** The built-in store takes some 10 us for each three characters of a name that comes or goes, and answers nobody else meanwhile. */
const BATCH_LETTERS = 10_000;

/** Entries that come or go in one command, fewer where their names are long. */
export function* entryBatches<Item extends { readonly _id: string }>(items: readonly Item[]): Generator<Item[]> {
  for (const some of batches(items)) {
    let [start, letters] = [0, 0];
    for (const [at, { _id }] of some.entries()) {
      if (letters > 0 && letters + _id.length > BATCH_LETTERS) {
        yield some.slice(start, at);
        [start, letters] = [at, 0];
      }
      letters += _id.length;
    }
    yield some.slice(start);
  }
}

/** Two upserts of one record at once may both try to insert; the one that lost finds what it wanted to be there. */
export async function ignoreDuplicates(write: Promise<unknown>): Promise<void> {
  try {
    await write;
  } catch (error) {
    if (!isDuplicateKey(error)) throw error;
  }
}
