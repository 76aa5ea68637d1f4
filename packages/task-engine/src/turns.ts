/** Users with ids between these, both left out. */
export interface UserSpan {
  readonly above: number;
  readonly below: number;
}

interface Turn {
  readonly served: Set<number>;
  /** Whose task was begun last; -1: nobody's yet. */
  last: number;
  /**
   * How the next one is found: users are asked for one by one; or the queue is gone through by time, as too many users have nothing that is due, or as nobody waits beside
   * the one who was served last.
   */
  mode: 'by user' | 'by time' | 'alone';
}

/** Whose turn it is to have a task of a kind begun: everybody who waits has one, before anybody has a second one. */
export function createTurns() {
  const turns = new Map<string, Turn>();
  const turnOf = (kind: string): Turn => {
    const turn = turns.get(kind) ?? { served: new Set(), last: -1, mode: 'by user' };
    turns.set(kind, turn);
    return turn;
  };
  return {
    /** Users are asked for one by one, by {@link spansOf}; otherwise the queue is gone through by time. */
    isByUser: (kind: string): boolean => turnOf(kind).mode === 'by user',
    /** Nobody is known to wait beside the one who was served last. */
    isAlone: (kind: string): boolean => turnOf(kind).mode === 'alone',
    /** Until {@link look} users are not asked for one by one. */
    goByTime(kind: string): void {
      turnOf(kind).mode = 'by time';
    },
    /** Where the next one is to be looked for, in this order: users come by their ids, round and round. @param closed users who have their share */
    spansOf(kind: string, closed: readonly number[]): readonly UserSpan[] {
      const { last } = turnOf(kind);
      const ordered = closed.toSorted((one, other) => one - other);
      return [...between(last, Number.MAX_SAFE_INTEGER, ordered), ...between(-1, last + 1, ordered)];
    },
    /** Who has had a task of the kind begun, where others may be waiting. */
    servedOf(kind: string): readonly number[] {
      const { served, mode } = turnOf(kind);
      return mode === 'alone' ? [] : [...served];
    },
    /** A task of this user was begun. */
    note(kind: string, userId: number): void {
      const turn = turnOf(kind);
      turn.served.add(userId);
      turn.last = userId;
    },
    /** The same, of one whom {@link spansOf} found. @param closed users who have their share: they may wait as well */
    noteInTurn(kind: string, userId: number, closed: readonly number[]): void {
      const turn = turnOf(kind);
      if (userId === turn.last && closed.length === 0) turn.mode = 'alone';
      if (userId <= turn.last) turn.served.clear();
      turn.served.add(userId);
      turn.last = userId;
    },
    /** Nobody waits who has not had a turn: the next round begins, and until {@link look} nobody is looked for. */
    end(kind: string): void {
      const turn = turnOf(kind);
      turn.served.clear();
      turn.mode = 'alone';
    },
    /** Tasks may have been queued. */
    look(): void {
      for (const turn of turns.values()) turn.mode = 'by user';
    },
  };
}

export type Turns = ReturnType<typeof createTurns>;

/** What is left between two users without the closed ones, which are in order. */
function between(above: number, below: number, closed: readonly number[]): UserSpan[] {
  const ends = [above, ...closed.filter((id) => id > above && id < below), below];
  return ends
    .slice(1)
    .map((end, index) => ({ above: ends[index] ?? above, below: end }))
    .filter((span) => span.below - span.above > 1);
}
