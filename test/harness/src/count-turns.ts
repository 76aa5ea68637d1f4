/** Turns of the event loop, counted from the next one on. */
export interface CountedTurns {
  /** So far. */
  count(): number;
  /** Counts no further. Without it the process does not end. */
  stop(): void;
}

/** Counts the turns that others have while something runs: none, where it keeps the thread for itself. */
export function countTurns(): CountedTurns {
  let turns = 0;
  let isOver = false;
  const next = () => {
    turns += 1;
    if (!isOver) setImmediate(next);
  };
  setImmediate(next);
  return {
    count: () => turns,
    stop() {
      isOver = true;
    },
  };
}
