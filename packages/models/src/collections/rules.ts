import { defineCollection } from '../collection.ts';
import { flag, numbers, type RecordOf, required, text } from '../fields.ts';

/** A path rule. Written by admin. */
export const rules = defineCollection(
  'metas',
  {
    _id: required.number,
    path: required.text,
    /** Sealed; empty when there is none. */
    password: text,
    p_sub: flag,
    write: flag,
    w_sub: flag,
    hide: text,
    h_sub: flag,
    readme: text,
    r_sub: flag,
    header: text,
    header_sub: flag,
    read_users: numbers,
    read_users_sub: flag,
    write_users: numbers,
    write_users_sub: flag,
  },
  [{ path: 1 }, { unique: true }],
);

export type RuleRecord = RecordOf<(typeof rules)['fields']>;
