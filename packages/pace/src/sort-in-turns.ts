import type { Pace } from './pace.ts';

/** Items that are sorted or merged between two turns of others: about a millisecond. */
const ITEMS_PER_STEP = 1_000;

type Compare<Item> = (left: Item, right: Item) => number;

/** Sorts short runs and merges them by two: nobody waits for more than ITEMS_PER_STEP items. Equal ones keep their order. */
export async function sortInTurns<Item>(items: readonly Item[], compare: Compare<Item>, pace: Pace): Promise<readonly Item[]> {
  let runs: (readonly Item[])[] = [];
  for (let from = 0; from < items.length; from += ITEMS_PER_STEP) {
    runs.push(items.slice(from, from + ITEMS_PER_STEP).sort(compare));
    await pace.step();
  }
  while (runs.length > 1) {
    const merged: (readonly Item[])[] = [];
    for (let index = 0; index < runs.length; index += 2) merged.push(await merge(runs[index] ?? [], runs[index + 1] ?? [], compare, pace));
    runs = merged;
  }
  return runs[0] ?? [];
}

async function merge<Item>(left: readonly Item[], right: readonly Item[], compare: Compare<Item>, pace: Pace): Promise<readonly Item[]> {
  const merged: Item[] = [];
  const rights = right.values();
  let next = rights.next();
  const push = async (item: Item) => {
    merged.push(item);
    if (merged.length % ITEMS_PER_STEP === 0) await pace.step();
  };
  for (const item of left) {
    for (; !next.done && compare(next.value, item) < 0; next = rights.next()) await push(next.value);
    await push(item);
  }
  for (; !next.done; next = rights.next()) await push(next.value);
  return merged;
}
