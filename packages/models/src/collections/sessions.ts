import { defineCollection } from '../collection.ts';
import { optional, type RecordOf, required, text } from '../fields.ts';

/** A login that was not ended. Written by auth. */
export const sessions = defineCollection(
  'sessions',
  {
    _id: required.text,
    user_id: required.number,
    address: text,
    /** What the client called itself; empty where it did not say, and in records of older versions. */
    device: text,
    created_at: required.date,
    /** Within ten minutes; absent in records of older versions until it is used. */
    last_used_at: optional.date,
    /** The store forgets it then. */
    expires_at: required.date,
  },
  [{ user_id: 1, last_used_at: -1, _id: 1 }],
  [{ expires_at: 1 }, { expireAfterSeconds: 0 }],
);

export type SessionRecord = RecordOf<(typeof sessions)['fields']>;
