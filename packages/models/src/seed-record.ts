import type { Connection, Model } from 'mongoose';
import { defineModel, required } from './define-model.ts';

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
  return defineModel<SeedRecord>(
    connection,
    'download_seeds',
    {
      _id: required(String),
      tool: required(String),
      tool_id: required(String),
      remove_at: { type: Date, default: null },
      left_files: [String],
    },
    (schema) => {
      schema.index({ remove_at: 1 });
    },
  );
}
