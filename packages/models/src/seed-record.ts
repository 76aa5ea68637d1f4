import { type Connection, type Model, Schema } from 'mongoose';

/** A torrent that seeds after its files were taken over. Written by the downloader. */
export interface SeedRecord {
  /** The id of its download task. */
  _id: string;
  tool: string;
  /** By which the tool knows it. */
  tool_id: string;
  /** Null: it stays. */
  remove_at: Date | null;
  /** Names in the task's folder that go when the seeding ends. */
  left_files: string[];
}

/** The collection of seeding torrents; a second call for a connection answers the same model. */
export function seedModelOf(connection: Connection): Model<SeedRecord> {
  const name = 'download_seeds';
  const known = connection.models[name];
  if (known) return known as Model<SeedRecord>;
  const schema = new Schema(
    {
      _id: { type: String, required: true },
      tool: { type: String, required: true },
      tool_id: { type: String, required: true },
      remove_at: { type: Date, default: null },
      left_files: [String],
    },
    { collection: name, versionKey: false, minimize: false, strict: 'throw' },
  );
  schema.index({ remove_at: 1 });
  return connection.model(name, schema) as unknown as Model<SeedRecord>;
}
