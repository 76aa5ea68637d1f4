import { defineCollection } from '../collection.ts';
import { flag, number, type RecordOf, required, text } from '../fields.ts';

/** A file on its way into the tree. Written by fs. */
export const writeSessions = defineCollection(
  'write_sessions',
  {
    /** 32 hexadecimal digits; also the id of the draft that its storage keeps. */
    _id: required.text,
    user_id: required.number,
    /** Where the file is to be, in the whole tree. */
    path: required.text,
    storage_id: required.number,
    /** Whether the storage takes ranges. */
    has_draft: required.flag,
    /** Set before the file gets this name, which may be another one than `path` says; empty before. */
    publishing_path: text,
    /** True once the file has that name. */
    is_published: flag,
    /** In bytes: as announced, 0 when it was not; of the file once it is published. */
    size: number,
    /** Of the replica that opened it; empty: any. */
    data_url: text,
    /** fs takes it away then, with what it has written. */
    expires_at: required.date,
  },
  [{ expires_at: 1 }],
);

export type WriteSessionRecord = RecordOf<(typeof writeSessions)['fields']>;
