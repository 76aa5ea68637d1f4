/** What is to run later, by a clock of the test. */
export interface Schedule {
  after(ms: number, run: () => void): () => void;
  /** Runs what is due and answers how many those were. */
  run(): number;
}

export function createSchedule(clock: () => number): Schedule {
  const waiting = new Set<{ readonly dueAt: number; readonly run: () => void }>();
  return {
    after(ms, run) {
      const entry = { dueAt: clock() + ms, run };
      waiting.add(entry);
      return () => void waiting.delete(entry);
    },
    run() {
      const due = [...waiting].filter(({ dueAt }) => dueAt <= clock());
      for (const entry of due) {
        waiting.delete(entry);
        entry.run();
      }
      return due.length;
    },
  };
}
