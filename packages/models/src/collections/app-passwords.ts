import { defineCollection } from '../collection.ts';
import { flag, orNull, type RecordOf, required, texts } from '../fields.ts';

/** A password that logs one app in. Written by auth. */
export const appPasswords = defineCollection(
  'app_passwords',
  {
    _id: required.number,
    user_id: required.number,
    name: required.text,
    /** Keyed digest of the password. */
    digest: required.text,
    /** `webdav`, `ftp`, `sftp`. */
    protocols: texts,
    read_only: flag,
    /** What it sees of the user's tree. */
    path: required.text,
    created_at: required.date,
    /** The store forgets it then; null: never. */
    expires_at: orNull.date,
    last_used_at: orNull.date,
  },
  [{ user_id: 1, digest: 1 }, { unique: true }],
  [{ expires_at: 1 }, { expireAfterSeconds: 0 }],
);

export type AppPasswordRecord = RecordOf<(typeof appPasswords)['fields']>;
