import type { EntryName } from '@wharf/paths';
import type { Entry } from '../driver-contract/storage-driver.ts';
import { compareNaturally } from './natural-order.ts';

/** How a storage wants its listings sorted (semantics 3.3). */
export interface EntryOrder {
  /** `name`, `size`, `modified`; anything else keeps the order of the driver. */
  readonly by: string;
  readonly isDescending: boolean;
  /** `front`, `back`; anything else leaves folders among files. */
  readonly folders: string;
}

const COMPARE: Readonly<Record<string, (left: Entry, right: Entry) => number>> = {
  name: (left, right) => compareNaturally(left.name, right.name),
  size: (left, right) => left.sizeBytes - right.sizeBytes,
  modified: (left, right) => left.modifiedAt.getTime() - right.modifiedAt.getTime(),
};

/** A sorted copy. Equal entries keep the order of the driver. */
export function sortEntries(order: EntryOrder, entries: readonly Entry[]): Entry[] {
  const compare = COMPARE[order.by];
  const sorted = compare
    ? entries.toSorted((left, right) => (order.isDescending ? compare(right, left) : compare(left, right)))
    : [...entries];
  return foldersApart(order, sorted, (entry) => entry.isDirectory);
}

/** The same for bare names, which can be sorted by `name` or not at all. */
export function sortNamesBy(
  order: EntryOrder,
  names: readonly EntryName[],
  isDirectory: (name: EntryName) => boolean,
): readonly EntryName[] {
  const sorted =
    order.by === 'name'
      ? names.toSorted((left, right) => (order.isDescending ? compareNaturally(right, left) : compareNaturally(left, right)))
      : names;
  return foldersApart(order, sorted, isDirectory);
}

function foldersApart<Item>(order: EntryOrder, items: readonly Item[], isDirectory: (item: Item) => boolean): Item[] {
  if (order.folders !== 'front' && order.folders !== 'back') return [...items];
  const folders = items.filter(isDirectory);
  const files = items.filter((item) => !isDirectory(item));
  return order.folders === 'front' ? [...folders, ...files] : [...files, ...folders];
}
