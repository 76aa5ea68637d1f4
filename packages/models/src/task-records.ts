import type { Connection, Model } from 'mongoose';
import { defineModel, flag, number, required, text } from './define-model.ts';

/** Durable background work. Written by the service that owns the collection, through @wharf/task-engine only. */
export interface TaskRecord {
  _id: string;
  /** What runs it. */
  kind: string;
  /** The list that shows it: the `<type>` of `/api/task/<type>`. */
  list: string;
  name: string;
  /** 0: nobody, and then only the administrator sees it. */
  creator_id: number;
  creator: string;
  /** -1: nobody. */
  creator_role: number;
  /** What it shares a limit with others by, for example `tool:SimpleHttp`. */
  keys: string[];
  /** Not before this time. */
  run_at: Date;
  /** True while a worker may take it: state 0 or 8 and not paused. */
  waiting: boolean;
  /** True in the states 2, 4 and 7. */
  done: boolean;
  paused: boolean;
  /** True once it was deleted: nobody sees it any more, and it goes when it has ended. */
  forget: boolean;
  /** 0 pending, 1 running, 2 succeeded, 3 canceling, 4 canceled, 6 failing, 7 failed, 8 waiting for a retry. */
  state: number;
  status: string;
  phase: string;
  /** 0 to 100. */
  progress: number;
  done_bytes: number;
  /** 0: not known. */
  total_bytes: number;
  /** Bytes a second. */
  speed: number;
  /** Seconds; null: not known. */
  eta: number | null;
  /** Kept over retries until one succeeds. */
  error: string;
  /** Attempts that failed since it was queued or retried by hand. */
  failures: number;
  /** Workers in a row that were lost with it and left nothing durable behind. */
  losses: number;
  /** Rises with each worker that takes it; every write of a worker carries the one it was given. */
  fence: number;
  /** Who holds it; empty: nobody. */
  worker: string;
  lease_until: Date;
  /** True when its kind has something to put away after a cancel or a failure. */
  has_cleanup: boolean;
  /** JSON text, in the shape of its kind. */
  input: string;
  /** JSON text, in the shape of its kind; empty: none yet. */
  checkpoint: string;
  created_at: Date;
  start_time: Date | null;
  end_time: Date | null;
  /** By the store's clock. */
  updated_at: Date;
  /** Rises with each write. */
  revision: number;
}

/** A piece of a task that is too large for one document: part of a manifest. Written as tasks are. */
export interface TaskChunkRecord {
  /** `<task id>:<index>`. */
  _id: string;
  task: string;
  index: number;
  /** Of the worker that wrote it, or that took the task since. */
  fence: number;
  /** JSON text, in the shape of the task's kind. */
  body: string;
}

/** The collections of one owner's tasks. */
export interface TaskModels {
  readonly tasks: Model<TaskRecord>;
  readonly chunks: Model<TaskChunkRecord>;
}

const OWNERS = {
  fs: { tasks: 'fs_tasks', chunks: 'fs_task_chunks' },
  downloader: { tasks: 'download_tasks', chunks: 'download_task_chunks' },
} as const;

/** A service that has tasks. */
export type TaskOwner = keyof typeof OWNERS;

/** The task collections of an owner; a second call answers the same ones. */
export function taskModelsOf(connection: Connection, owner: TaskOwner): TaskModels {
  const names = OWNERS[owner];
  return {
    tasks: defineModel<TaskRecord>(
      connection,
      names.tasks,
      {
        _id: required(String),
        kind: required(String),
        list: required(String),
        name: text,
        creator_id: number,
        creator: text,
        creator_role: number,
        keys: [String],
        run_at: required(Date),
        waiting: flag,
        done: flag,
        paused: flag,
        forget: flag,
        state: number,
        status: text,
        phase: text,
        progress: number,
        done_bytes: number,
        total_bytes: number,
        speed: number,
        eta: { type: Number, default: null },
        error: text,
        failures: number,
        losses: number,
        fence: number,
        worker: text,
        lease_until: required(Date),
        has_cleanup: flag,
        input: text,
        checkpoint: text,
        created_at: required(Date),
        start_time: { type: Date, default: null },
        end_time: { type: Date, default: null },
        updated_at: required(Date),
        revision: number,
      },
      (schema) => {
        schema.index({ waiting: 1, kind: 1, run_at: 1 });
        schema.index({ state: 1, lease_until: 1 });
        schema.index({ list: 1, done: 1, created_at: -1 });
        schema.index({ creator_id: 1, done: 1, created_at: -1 });
        schema.index({ done: 1, created_at: -1 });
        schema.index({ done: 1, end_time: -1 });
        schema.index({ updated_at: 1 });
      },
    ),
    chunks: defineModel<TaskChunkRecord>(
      connection,
      names.chunks,
      { _id: required(String), task: required(String), index: number, fence: number, body: text },
      (schema) => {
        schema.index({ task: 1 });
      },
    ),
  };
}
