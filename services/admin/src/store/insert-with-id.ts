import type { CountedKind, Counters } from './counters.ts';

/** The greatest id that a caller may choose; there is room behind it for those that are given out. */
const MAX_CHOSEN_ID = 2 ** 31 - 1;

/**
 * Inserts a record under the wanted id when that is free, else under the next one.
 *
 * @param wanted 0, or anything that cannot be an id: none in particular.
 * @param insert answers false when the id is taken; throws when the record cannot be inserted under any id.
 * @returns the record's id
 */
export async function insertWithId(
  counters: Counters,
  kind: CountedKind,
  wanted: number,
  insert: (id: number) => Promise<boolean>,
): Promise<number> {
  if (Number.isInteger(wanted) && wanted > 0 && wanted <= MAX_CHOSEN_ID) {
    await counters.reserveIds(kind, wanted);
    if (await insert(wanted)) return wanted;
  }
  for (;;) {
    const id = await counters.nextId(kind);
    if (await insert(id)) return id;
  }
}
