interface Turn {
  readonly served: Set<number>;
  isAlone: boolean;
}

/** Whose turn it is to have a task of a kind begun: everybody who waits has one, before anybody has a second one. */
export function createTurns() {
  const turns = new Map<string, Turn>();
  const turnOf = (kind: string): Turn => {
    const turn = turns.get(kind) ?? { served: new Set(), isAlone: false };
    turns.set(kind, turn);
    return turn;
  };
  return {
    /** Who has had a task of the kind begun, where others may be waiting. */
    servedOf(kind: string): readonly number[] {
      const { served, isAlone } = turnOf(kind);
      return isAlone ? [] : [...served];
    },
    /** A task of this user was begun. */
    note(kind: string, creatorId: number): void {
      turnOf(kind).served.add(creatorId);
    },
    /** Nobody waits who has not had a turn: the next round begins, and until {@link look} nobody is looked for. */
    end(kind: string): void {
      turns.set(kind, { served: new Set(), isAlone: true });
    },
    /** Tasks may have been queued. */
    look(): void {
      for (const turn of turns.values()) turn.isAlone = false;
    },
  };
}

export type Turns = ReturnType<typeof createTurns>;
