import { defineCollection } from '../collection.ts';
import { number, type RecordOf, required, text } from '../fields.ts';

/** How many tasks have not ended, as one replica counted them for all. One record, written by the owner's task engine. */
const fields = {
  _id: required.text,
  /** By the store's clock, in milliseconds since 1970; when the counting began. */
  counted_at: number,
  /** How long it took, in milliseconds. */
  took_ms: number,
  /** JSON: kind, state and number of each. */
  counts: text,
} as const;

export type TaskCountsRecord = RecordOf<typeof fields>;

const of = (name: string) => defineCollection(name, fields);
export const fsTaskCounts = of('fs_task_counts');
export const downloadTaskCounts = of('download_task_counts');
