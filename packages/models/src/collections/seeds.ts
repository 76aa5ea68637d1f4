import { defineCollection } from '../collection.ts';
import { orNull, type RecordOf, required, texts } from '../fields.ts';

/** A torrent that seeds after its files were taken over. Written by the downloader. */
export const seeds = defineCollection(
  'download_seeds',
  {
    /** The id of its download task. */
    _id: required.text,
    tool: required.text,
    /** By which the tool knows it. */
    tool_id: required.text,
    /** Null: it stays. */
    remove_at: orNull.date,
    /** Names in the task's folder that go when the seeding ends. */
    left_files: texts,
  },
  [{ remove_at: 1 }],
);

export type SeedRecord = RecordOf<(typeof seeds)['fields']>;
