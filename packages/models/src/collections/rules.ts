import { defineCollection } from '../collection.ts';
import { flag, harmless, numbers, type RecordOf, required, text } from '../fields.ts';

/** A path rule. Written by admin. */
export const rules = defineCollection(
  'metas',
  {
    _id: required.number,
    path: required.path,
    /** Sealed; empty when there is none. */
    password: text,
    p_sub: flag,
    write: harmless(flag),
    w_sub: harmless(flag),
    hide: text,
    h_sub: flag,
    readme: harmless(text),
    r_sub: harmless(flag),
    header: harmless(text),
    header_sub: harmless(flag),
    read_users: numbers,
    read_users_sub: flag,
    write_users: numbers,
    write_users_sub: flag,
  },
  [{ path: 1 }, { unique: true }],
);

export type RuleRecord = RecordOf<(typeof rules)['fields']>;
