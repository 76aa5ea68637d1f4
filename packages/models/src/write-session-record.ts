import { type Connection, type Model, Schema } from 'mongoose';

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
  const name = 'write_sessions';
  const known = connection.models[name];
  if (known) return known as Model<WriteSessionRecord>;
  const schema = new Schema(
    {
      _id: { type: String, required: true },
      user_id: { type: Number, required: true },
      path: { type: String, required: true },
      storage_id: { type: Number, required: true },
      has_draft: { type: Boolean, required: true },
      publishing_path: { type: String, default: '' },
      is_published: { type: Boolean, default: false },
      size: { type: Number, default: 0 },
      data_url: { type: String, default: '' },
      expires_at: { type: Date, required: true },
    },
    { collection: name, versionKey: false, minimize: false, strict: 'throw' },
  );
  schema.index({ expires_at: 1 });
  return connection.model(name, schema) as unknown as Model<WriteSessionRecord>;
}
