interface Ordered {
  readonly id: number;
  readonly order: number;
}

/** Those whose place in the order changes when one goes up (-1) or down (1), with their new places: 0, 1, 2 and so on. */
export function moveInOrder<Each extends Ordered>(all: readonly Each[], id: number, by: -1 | 1): readonly Each[] {
  const from = all.findIndex((each) => each.id === id);
  const moved = all[from];
  if (!moved || from + by < 0 || from + by >= all.length) return [];
  const next = all.toSpliced(from, 1).toSpliced(from + by, 0, moved);
  return next.flatMap((each, order) => (each.order === order ? [] : [{ ...each, order }]));
}
