import type { TaskRecord } from '@wharf/models';

/** Changes of so many milliseconds have one hint: whoever hears it reads what changed from the store. */
const HINT_MS = 50;

/** Tells of changed tasks: at once, and after that of the last of those that changed meanwhile. */
export interface ChangeHints {
  changed(record: TaskRecord): void;
  /** Tells of what is untold; from here on each at once. */
  close(): void;
}

export function createChangeHints(publish: (record: TaskRecord) => void): ChangeHints {
  let untold: TaskRecord | undefined;
  let timer: NodeJS.Timeout | undefined;
  let isClosed = false;
  const tell = () => {
    timer = undefined;
    if (!untold) return;
    publish(untold);
    untold = undefined;
    if (!isClosed) timer = setTimeout(tell, HINT_MS).unref();
  };
  return {
    changed(record) {
      untold = record;
      if (timer === undefined) tell();
    },
    close() {
      isClosed = true;
      clearTimeout(timer);
      tell();
    },
  };
}
