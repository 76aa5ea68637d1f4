import { defineCollection } from '../collection.ts';
import { number, type RecordOf, required, text } from '../fields.ts';

/** A piece of a task that is too large for one document: part of a manifest. Written as tasks are. */
const fields = {
  /** `<task id>:<index>`. */
  _id: required.text,
  task: required.text,
  index: number,
  /** Of the worker that wrote it, or that took the task since. */
  fence: number,
  /** JSON text, in the shape of the task's kind. */
  body: text,
} as const;

export type TaskChunkRecord = RecordOf<typeof fields>;

const of = (name: string) => defineCollection(name, fields, [{ task: 1 }]);
export const fsTaskChunks = of('fs_task_chunks');
export const downloadTaskChunks = of('download_task_chunks');
