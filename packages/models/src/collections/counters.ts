import { defineCollection } from '../collection.ts';
import { number, type RecordOf, required } from '../fields.ts';

/** A number that only rises: the last id given out, or the revision of an owner's data. One collection for each owner. */
const fields = {
  _id: required.text,
  value: number,
} as const;

export type CounterRecord = RecordOf<typeof fields>;

export const authCounters = defineCollection('auth_counters', fields);
export const adminCounters = defineCollection('admin_counters', fields);
export const fsCounters = defineCollection('fs_counters', fields);
