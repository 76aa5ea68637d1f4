import type { Connection, Model } from 'mongoose';
import { defineModel, flag, number, required, text } from './define-model.ts';

/** A file on its way into the tree. Written by fs. */
export interface WriteSessionRecord {
  /** 32 hexadecimal digits; also the id of the draft that its storage keeps. */
  _id: string;
  user_id: number;
  /** Where the file is to be, in the whole tree. */
  path: string;
  storage_id: number;
  /** Whether the storage takes ranges. */
  has_draft: boolean;
  /** Set before the file gets this name, which may be another one than `path` says; empty before. */
  publishing_path: string;
  /** True once the file has that name. */
  is_published: boolean;
  /** In bytes: as announced, 0 when it was not; of the file once it is published. */
  size: number;
  /** Of the replica that opened it; empty: any. */
  data_url: string;
  /** fs takes it away then, with what it has written. */
  expires_at: Date;
}

/** The collection of write sessions; a second call for a connection answers the same model. */
export function writeSessionModelOf(connection: Connection): Model<WriteSessionRecord> {
  return defineModel<WriteSessionRecord>(
    connection,
    'write_sessions',
    {
      _id: required(String),
      user_id: required(Number),
      path: required(String),
      storage_id: required(Number),
      has_draft: required(Boolean),
      publishing_path: text,
      is_published: flag,
      size: number,
      data_url: text,
      expires_at: required(Date),
    },
    (schema) => {
      schema.index({ expires_at: 1 });
    },
  );
}
