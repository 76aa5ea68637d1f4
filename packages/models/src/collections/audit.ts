import { defineCollection } from '../collection.ts';
import { number, optional, type RecordOf, required, text } from '../fields.ts';

const HALF_A_YEAR_S = 180 * 86_400;

/** An entry of the audit trail. Written by auth; only failed logins that repeat within an hour are counted in one. */
export const audit = defineCollection(
  'audit',
  {
    /** In the order of time. */
    _id: required.text,
    /** The store forgets it half a year later. */
    at: required.date,
    action: required.text,
    /** 0: not known. */
    user_id: number,
    username: text,
    address: text,
    target: text,
    detail: text,
    /** How often it happened; absent: once. */
    count: optional.number,
    /** Of the last time; absent: `at`. */
    last_at: optional.date,
    /** For failed logins: the key of those that are counted together. */
    repeat_key: optional.text,
  },
  [{ user_id: 1, action: 1, _id: 1 }],
  [{ repeat_key: 1 }, { unique: true, sparse: true }],
  [{ at: 1 }, { expireAfterSeconds: HALF_A_YEAR_S }],
);

export type AuditRecord = RecordOf<(typeof audit)['fields']>;
