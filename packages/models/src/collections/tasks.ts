import { type Collection, defineCollection } from '../collection.ts';
import { addedLater, flag, number, orNull, type RecordOf, required, text, texts } from '../fields.ts';

/** Durable background work. Written by the service that owns the collection, through @wharf/task-engine only. */
export const taskFields = {
  _id: required.text,
  /** What runs it. */
  kind: required.text,
  /** The list that shows it: the `<type>` of `/api/task/<type>`. */
  list: required.text,
  name: text,
  /** 0: nobody; then only the admin sees the task. */
  creator_id: number,
  creator: text,
  /** -1: nobody. */
  creator_role: number,
  /** Keys of limits that it shares with other tasks, for example `tool:SimpleHttp`. */
  keys: texts,
  /** Not before this time. */
  run_at: required.date,
  /** True while a worker may take it: state 0 or 8 and not paused. */
  waiting: flag,
  /** True in the states 2, 4 and 7. */
  done: flag,
  paused: flag,
  /** True once it was deleted: nobody sees it any more, and it goes when it has ended. */
  forget: flag,
  /** 0 pending, 1 running, 2 succeeded, 3 canceling, 4 canceled, 6 failing, 7 failed, 8 waiting for a retry. */
  state: number,
  status: text,
  phase: text,
  /** 0 to 100. */
  progress: number,
  done_bytes: number,
  /** 0: not known. */
  total_bytes: number,
  /** Bytes a second. */
  speed: number,
  /** Seconds; null: not known. */
  eta: orNull.number,
  /** Kept over retries until one succeeds. */
  error: text,
  /** The name of that error; empty: none. */
  error_code: addedLater(text),
  /** Attempts that failed since it was queued or retried by hand. */
  failures: number,
  /** How many workers in a row died with it without a new checkpoint. */
  losses: number,
  /** Rises with each worker that takes it; every write of a worker carries the one it was given. */
  fence: number,
  /** How many workers took it and gave it back before they began. */
  unbegun: addedLater(number),
  /** Who holds it; empty: nobody. */
  worker: text,
  lease_until: required.date,
  /** True when its kind has something to put away after a cancel or a failure. */
  has_cleanup: flag,
  /** The W3C traceparent of whatever queued it; empty: nothing that is traced. */
  trace: addedLater(text),
  /** JSON text, in the shape of its kind. */
  input: text,
  /** JSON text, in the shape of its kind; empty: none yet. */
  checkpoint: text,
  created_at: required.date,
  start_time: orNull.date,
  end_time: orNull.date,
  /** By the store's clock. */
  updated_at: required.date,
  /** Rises with each write. */
  revision: number,
} as const;

export type TaskRecord = RecordOf<typeof taskFields>;

const of = (name: string, ...further: Collection<typeof taskFields>['indexes']) =>
  defineCollection(
    name,
    taskFields,
    [{ waiting: 1, kind: 1, run_at: 1 }],
    [{ waiting: 1, kind: 1, creator_id: 1, run_at: 1 }],
    [{ state: 1, lease_until: 1 }],
    [{ list: 1, done: 1, created_at: -1 }],
    // Of a list one user's alone: whoever has none would look at those of all others.
    [{ creator_id: 1, list: 1, done: 1, created_at: -1 }],
    [{ creator_id: 1, done: 1, created_at: -1 }],
    [{ done: 1, created_at: -1 }],
    [{ done: 1, forget: 1, end_time: -1 }],
    [{ updated_at: 1 }],
    ...further,
  );
export const fsTasks = of('fs_tasks');
// A download is asked for its transfers, which have it as a key.
export const downloadTasks = of('download_tasks', [{ keys: 1 }]);
