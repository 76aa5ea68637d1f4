import { type Pace, sortInTurns } from '@wharf/pace';
import type { EntryName } from '@wharf/paths';
import type { EntryHead } from '../../driver-contract/entry-map.ts';
import { compareNaturally } from './natural-order.ts';

/** How a storage wants its listings sorted (docs/api-family.md#sorting). */
export interface EntryOrder {
  /** `name`, `size`, `modified`; anything else keeps the order of the driver. */
  readonly by: string;
  readonly isDescending: boolean;
  /** `front`, `back`; anything else leaves folders among files. */
  readonly folders: string;
}

const COMPARE: Readonly<Record<string, (left: EntryHead, right: EntryHead) => number>> = {
  name: (left, right) => compareNaturally(left.name, right.name),
  // A size that is not known is the smallest, as clients see 0.
  size: (left, right) => (left.sizeBytes ?? 0) - (right.sizeBytes ?? 0),
  modified: (left, right) => left.modifiedMs - right.modifiedMs,
};

/** A sorted copy. Equal entries keep the order of the driver. */
export async function sortEntries(order: EntryOrder, entries: readonly EntryHead[], pace: Pace): Promise<readonly EntryHead[]> {
  const compare = COMPARE[order.by];
  const sorted = compare ? await sortInTurns(entries, directed(order, compare), pace) : entries;
  return foldersApart(order, sorted, (entry) => entry.isDirectory, pace);
}

/** The same for bare names, which can be sorted by `name` or not at all. */
export async function sortNamesBy(
  order: EntryOrder,
  names: readonly EntryName[],
  isDirectory: (name: EntryName) => boolean,
  pace: Pace,
): Promise<readonly EntryName[]> {
  const sorted = order.by === 'name' ? await sortInTurns(names, directed(order, compareNaturally), pace) : names;
  return foldersApart(order, sorted, isDirectory, pace);
}

type Compare<Item> = (left: Item, right: Item) => number;

function directed<Item>({ isDescending }: EntryOrder, compare: Compare<Item>): Compare<Item> {
  return isDescending ? (left, right) => compare(right, left) : compare;
}

async function foldersApart<Item>(
  order: EntryOrder,
  items: readonly Item[],
  isDirectory: (item: Item) => boolean,
  pace: Pace,
): Promise<readonly Item[]> {
  if (order.folders !== 'front' && order.folders !== 'back') return items;
  const folders: Item[] = [];
  const files: Item[] = [];
  for (const item of items) {
    (isDirectory(item) ? folders : files).push(item);
    await pace.step();
  }
  return order.folders === 'front' ? folders.concat(files) : files.concat(folders);
}
