import { MAX_TOLD_TASKS, type TaskRecord } from '@wharf/models';

/** Changes of so many milliseconds are told together. */
const HINT_MS = 50;
/** A status that is longer is read from the store. */
const MAX_STATUS_LENGTH = 1_000;

/** Changes of a moment. */
export interface TaskChanges {
  readonly last: TaskRecord;
  /** Whose tasks they are; undefined: too many to be told. */
  readonly creators: readonly number[] | undefined;
  /** What changed, each as the store has it; undefined: too many, or some of them are known to the store alone. */
  readonly stored: readonly TaskRecord[] | undefined;
}

/** Tells of changed tasks: at once, and after that together of those that changed meanwhile. */
export interface ChangeHints {
  /** @param isStored the record is what the store has, all of it */
  changed(record: TaskRecord, isStored?: boolean): void;
  /** Tells of what is untold; from here on each at once. */
  close(): void;
}

export function createChangeHints(publish: (changes: TaskChanges) => void): ChangeHints {
  let last: TaskRecord | undefined;
  const stored = new Map<string, TaskRecord>();
  const creators = new Set<number>();
  let isAllStored = true;
  let timer: NodeJS.Timeout | undefined;
  let isClosed = false;
  const tell = () => {
    timer = undefined;
    if (!last) return;
    publish({
      last,
      creators: creators.size <= MAX_TOLD_TASKS ? [...creators] : undefined,
      stored: isAllStored ? [...stored.values()] : undefined,
    });
    last = undefined;
    stored.clear();
    creators.clear();
    isAllStored = true;
    if (!isClosed) timer = setTimeout(tell, HINT_MS).unref();
  };
  return {
    changed(record, isStored = false) {
      last = record;
      if (creators.size <= MAX_TOLD_TASKS) creators.add(record.creator_id);
      isAllStored &&= isStored && !record.forget && record.status.length <= MAX_STATUS_LENGTH && stored.size < MAX_TOLD_TASKS;
      if (isAllStored) stored.set(record._id, record);
      if (timer === undefined) tell();
    },
    close() {
      isClosed = true;
      clearTimeout(timer);
      tell();
    },
  };
}
