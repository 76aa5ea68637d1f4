import { createSignal } from 'solid-js';

export type Selection = ReturnType<typeof createSelection>;

/** Entries by their names, the one that keys act on, and the one that a range begins at. */
export function createSelection() {
  const [chosen, setChosen] = createSignal<ReadonlySet<string>>(new Set());
  const [active, setActive] = createSignal(-1);
  const [anchor, setAnchor] = createSignal(-1);
  return {
    chosen,
    /** The place of the entry that keys act on; -1: none. */
    active,
    anchor,
    setActive,
    setAnchor,
    clear() {
      setChosen(new Set<string>());
      setActive(-1);
      setAnchor(-1);
    },
    choose: (names: Iterable<string>) => setChosen(new Set(names)),
    toggle: (name: string) =>
      setChosen((names) => {
        const next = new Set(names);
        if (!next.delete(name)) next.add(name);
        return next;
      }),
  };
}
