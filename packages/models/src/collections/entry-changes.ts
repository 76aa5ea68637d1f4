import { defineCollection } from '../collection.ts';
import { type RecordOf, required, texts } from '../fields.ts';

/** Replicas look for changes every few seconds. */
const CHANGES_KEPT_S = 600;

/** Entries that changed through one replica of fs, for the others that may not have heard of it. */
export const entryChanges = defineCollection(
  'entry_changes',
  {
    /** Rises by one. */
    _id: required.number,
    replica: required.text,
    /** Of the whole tree. */
    paths: texts,
    at: required.date,
  },
  [{ at: 1 }, { expireAfterSeconds: CHANGES_KEPT_S }],
);

export type EntryChangeRecord = RecordOf<(typeof entryChanges)['fields']>;
